package report

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// NotTogether stands in the place of a number that would divide launches of two sessions.
const NotTogether = "not measured together"

// Ends are the first and the last of the accepted stack.
type Ends struct {
	// Pair compares them in the newest session that launched both; nil if none did. Then
	// Command measures them together.
	Pair    *Pair  `json:"pair,omitempty"`
	Command string `json:"not_measured_together,omitempty"`
	// Base and Top are the arms of Pair, or else those of the sessions that accepted the first
	// port and the last, which nobody divides; nil without one.
	Base, Top *Arm `json:"-"`
}

// ends compares the baseline with the accepted stack; there is nothing to compare while
// that is empty.
func (s *Summary) ends() (e Ends) {
	if of := s.armsWith(s.Stack.Baseline); len(of) > 0 {
		e.Base = of[0]
	}
	if len(s.Stack.Features) == 0 {
		return e
	}
	tops := s.armsWith(s.Stack.Knobs)
	for _, top := range tops {
		i := slices.IndexFunc(s.Arms, func(a *Arm) bool {
			knobs := a.Launches[0].Knobs
			return a.Session == top.Session && (top.Block == "" || a.Block == top.Block) && knobs != nil &&
				maps.Equal(knobs, s.Stack.Baseline)
		})
		if i >= 0 && s.Arms[i] != top {
			if pair := pairOfArms(s.Store, s.Arms[i], top, s.tests); len(pair.Metrics) > 0 {
				return Ends{Pair: &pair, Base: s.Arms[i], Top: top}
			}
		}
	}
	// The newest where a session launched nothing: a port whose launches were reused.
	of := func(arms []*Arm, port Accepted) *Arm {
		for _, a := range arms {
			if port.decision != nil && a.Session == port.decision.Session {
				return a
			}
		}
		if len(arms) > 0 {
			return arms[0]
		}
		return nil
	}
	last, metric := s.Stack.Features[len(s.Stack.Features)-1], "METRIC"
	e.Base, e.Top = of(s.armsWith(s.Stack.Baseline), s.Stack.Features[0]), of(tops, last)
	// The command measures both in one session, once the feature accepted last has a criterion
	// that reads the baseline.
	for _, g := range last.Gains {
		if of, is := strings.CutSuffix(g.What, ".gain"); is {
			metric = strings.TrimSuffix(of, ".root")
		}
	}
	if s.Run != nil {
		e.Command = fmt.Sprintf("%s # after a criterion of %s on %s.root.gain", Applied(s.Store, s.Run), last.Feature,
			metric)
	}
	return e
}

// armsWith are the arms that have knob values, on the engine on which the baseline was last
// qualified, newest first: identified by their launches, whatever the arm's name.
func (s *Summary) armsWith(knobs map[string]string) (out []*Arm) {
	for _, a := range slices.Backward(s.Arms) {
		if l := a.Launches[0]; l.Knobs != nil && maps.Equal(l.Knobs, knobs) && (s.engine == "" || a.Block == s.engine) {
			out = append(out, a)
		}
	}
	return out
}

// Inputs are the suite and the variables that a run was given, as words of a command line.
func Inputs(run *ledger.RunView) (words []string) {
	if run.Start == nil || run.Start.Inputs == nil {
		return nil
	}
	in := run.Start.Inputs
	if in.Suite != "" {
		words = append(words, "--suite", in.Suite)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Variables)) {
		value := in.Variables[name]
		if text, err := strconv.Unquote(value); err == nil { // --var takes text as it is
			value = strings.NewReplacer("$${", "${", "%%{", "%{").Replace(text)
		}
		words = append(words, "--var", name+"="+value)
	}
	return words
}

// Applied is the command that repeats the apply of a run, with more flags. What is sensitive is not
// on record: "…" stands for it.
func Applied(st *store.Store, run *ledger.RunView, more ...string) string {
	before, words := "", slices.Concat([]string{"mxflow", "apply"}, more, Inputs(run))
	if run.Start != nil && run.Start.Inputs != nil {
		in := run.Start.Inputs
		for _, name := range slices.Sorted(maps.Keys(in.Env)) {
			before += name + "=" + shell.Quote(in.Env[name]) + " "
		}
		for _, name := range slices.Sorted(maps.Keys(in.Sealed)) {
			before += strings.Replace(strings.TrimPrefix(name, "env."), "var.", "MXFLOW_VAR_", 1) + "=… "
		}
	}
	return before + shell.Line(at(st, run, words)...)
}

// Reading is a command that reads what a run recorded: "mxflow explain feature.gemm plan.hcl".
func Reading(st *store.Store, run *ledger.RunView, words ...string) string {
	return shell.Line(at(st, run, append([]string{"mxflow"}, words...))...)
}

// at is a command with the state directory, unless that lies where commands look for it, and the plan.
func at(st *store.Store, run *ledger.RunView, words []string) []string {
	aside := strings.Contains(filepath.ToSlash(st.Dir()), ".mxflow-") // of a question's own folder
	if (filepath.Base(st.Dir()) != store.DirName || aside) && st.ArchivedKey() == "" {
		words = append(words, "--state", st.Dir())
	}
	if run != nil && run.PlanFile != "" {
		words = append(words, run.PlanFile)
	}
	return words
}

// Apart is what readers say of ends with a Command, before it.
const Apart = "The baseline and the accepted stack were " + NotTogether + ": no session launched both. This does:"

// Total is what the stack gains over the baseline, on one line: "Stack (2 ports): decode 40.1 →
// 1,342 tok/s, 33× the baseline (at least 28×)". Of a comparison it is which engine is fastest. Empty if
// nobody knows.
func (s *Summary) Total() string {
	if len(s.Stack.Features) == 0 {
		return s.Answer.Gain
	}
	return verdict.Behind(fmt.Sprintf("Stack (%s): ", verdict.Count(len(s.Stack.Features), "port")), s.Answer.Gain)
}
