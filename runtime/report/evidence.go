package report

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/engine/trace/symbol"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Proofs are what showed that a port did what its plan says: for each knob that it changes, the line of
// the log, the observation or the kernel of a trace that proved the value, with the launch and the place,
// and whether its parent had it too; then what was checked of its answers.
func Proofs(st *store.Store, d *ledger.Decision) (lines []verdict.Reason) {
	if d.Kind != ledger.KindFeature {
		return nil
	}
	parent := qualified(st, EvidenceOf(d).Parent, nil)
	for _, id := range d.Launches { // without rules that read them: what was launched beside it
		if l, ok := st.LaunchByID(id); ok && parent == nil && l.Variant != d.Feature &&
			l.Purpose == ledger.ForBenchmark {
			parent = qualified(st, gates.ArmOf(l.Variant, id), nil)
		}
	}
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass {
			continue
		}
		for _, r := range l.Reasons {
			value, proves := r.Values["value"], !r.Values["glob"].IsZero() || !r.Values["from"].IsZero()
			if !proves || value.IsZero() || parent != nil && parent.Knobs[r.Subject] == value.Text {
				continue // of what it shares with its parent
			}
			lines = append(lines, proofOf(st, r, l.Launch, parent))
		}
	}
	return append(lines, Accuracy(d)...)
}

// proofOf is one proof of a knob's value, beside the parent.
func proofOf(st *store.Store, r verdict.Reason, launch string, parent *ledger.Launch) verdict.Reason {
	beside := []verdict.Arg{verdict.Text("launch", launch)}
	text := "{subject} = {value}: {glob?{glob:q}{line? is {line_no?line {line_no} of }the log of launch {launch}: " +
		"{line}}" +
		"{line! is in the profile of launch {launch}: {kernel}, {launches|launch|launches}}}{glob!{name} is {is} in " +
		"launch {launch} ({from})}"
	switch {
	case parent == nil:
		text += "; its parent is not on record"
	case !r.Values["glob"].IsZero():
		in, of, has := "log", "line", logHas
		if r.Values["line"].IsZero() {
			in, of, has = "profile", "kernel", profileHas
		}
		if had, known := has(st, parent, r.Values["glob"].Text); !known {
			text += "; whether its parent's " + in + " has such a " + of + " is not on record"
		} else if had {
			text += "; so is a " + of + " of its parent's " + in + " (launch {other})"
		} else {
			text += "; its parent's " + in + " (launch {other}) has no such " + of
		}
	default:
		text += "; in launch {other} of its parent it is {was?{was}}{was!not reported}"
		if o, seen := parent.Observed[r.Values["name"].Text]; seen {
			beside = append(beside, verdict.Text("was", o.String()))
		}
	}
	if parent != nil {
		beside = append(beside, verdict.Text("other", parent.ID))
	}
	for name, v := range sorted.All(r.Values) {
		beside = append(beside, verdict.Arg{Name: name, Value: v})
	}
	return verdict.Say("evidence.proof", text, beside...).On(r.Subject)
}

// logHas reports whether the log of a launch has a line that matches; known is false without the log.
func logHas(st *store.Store, l *ledger.Launch, glob string) (has, known bool) {
	pattern, err := logscan.ParseGlob(glob)
	if err != nil || l.Log == "" {
		return false, false
	}
	log, err := st.Get(l.Log)
	if err != nil {
		return false, false
	}
	for line := range bytes.Lines(log) {
		if pattern.Match(string(line)) {
			return true, true
		}
	}
	return false, true
}

// profileHas reports whether a kernel that matches ran in the profiles of a launch; known is false without
// them, or if a CUDA graph may hide it.
func profileHas(st *store.Store, l *ledger.Launch, pattern string) (has, known bool) {
	a := ProfileOf(st, l)
	if a == nil {
		return false, false
	}
	for _, p := range a.Parts {
		if slices.ContainsFunc(p.Kernels, func(k trace.Kernel) bool { return symbol.Match(pattern, k.Name) }) {
			return true, true
		}
	}
	return false, !slices.ContainsFunc(a.Files, func(f trace.File) bool { return f.Hidden > 0 })
}

// Accuracy is what was checked of a feature's answers; none if they were not compared.
func Accuracy(d *ledger.Decision) (found []verdict.Reason) {
	for _, l := range d.Levels {
		if l.Name == "correctness" || strings.HasPrefix(l.Name, "exec") {
			found = append(found, l.Reason())
		}
		for _, r := range l.Reasons { // of the benchmark, whose answers are compared
			if r.AnyOf(code.Agrees, code.OtherAnswers, code.AgreementOpen, code.SelfDisagrees, code.LookedUp,
				code.NotAsked) && !slices.ContainsFunc(found, r.Equal) {
				found = append(found, r)
			}
		}
	}
	return found
}
