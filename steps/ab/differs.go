package ab

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Diff is one difference between A and B.
type Diff struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
	// Name is that of an observation or of a part of the environment.
	Name string `json:"-"`
	// Intended is why it may differ; empty if nobody said that it may.
	Intended string `json:"intended,omitempty"`
	// Observed is set for what the servers report about themselves.
	Observed bool `json:"-"`
}

// differences fills in all known differences: in the commands, in what the servers report,
// in their environments.
func (r *Result) differences(q *Question) {
	is := "yes: compared"
	own := q.Shape.Own
	for _, name := range names(own[0].Env, own[1].Env) {
		d := Diff{What: name, A: setTo(own[0].Env, name), B: setTo(own[1].Env, name), Intended: is}
		if tellsPort(d.A) && tellsPort(d.B) {
			d.Intended = "yes: address to listen on"
		}
		r.Differs = append(r.Differs, d)
	}
	switch {
	case own[1].Command != nil:
		r.Differs = append(r.Differs, Diff{What: "command", A: join(q.Arms[0].Words), B: join(q.Arms[1].Words), Intended: is})
	case len(own[0].Args)+len(own[1].Args) > 0:
		r.Differs = append(r.Differs, Diff{What: "arguments", A: cmp.Or(join(own[0].Args), unset), B: cmp.Or(join(own[1].Args), unset), Intended: is})
	}
	r.observations(q)
	r.environments(q)
}

// observations compares what the servers reported about themselves.
func (r *Result) observations(q *Question) {
	if !speaks(r.A.All) || !speaks(r.B.All) {
		return // one of them did not get that far
	}
	steady := map[string]bool{}
	for _, p := range q.Kind.Observe {
		steady[p.Name] = !p.Consequence
	}
	all := map[string]bool{}
	for _, l := range slices.Concat(r.A.All, r.B.All) {
		for name := range l.Observed {
			if steady[name] {
				all[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, inA := Said(r.A.All, name)
		b, inB := Said(r.B.All, name)
		if inA == inB && a == b {
			r.Same++
			continue
		}
		const none = "not reported"
		if !inA {
			a = none
		}
		if !inB {
			b = none
		}
		d := Diff{What: name + " (observed)", Name: name, A: a, B: b, Observed: true}
		switch {
		case slices.Contains(q.Changes, name):
			d.Intended = "yes: --changes"
		case q.shows(r.A.All, name) || q.shows(r.B.All, name):
			d.Intended = "yes: --must-see"
		}
		r.Differs = append(r.Differs, d)
	}
}

// speaks reports whether a launch got far enough to be queried.
func speaks(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return l.OK && len(l.Observed) > 0 })
}

// Said is what launches reported of themselves under a name; false if none did.
func Said(launches []*ledger.Launch, name string) (string, bool) {
	having := slices.DeleteFunc(slices.Clone(launches), func(l *ledger.Launch) bool { _, has := l.Observed[name]; return !has })
	if len(having) == 0 {
		return "", false
	}
	return ledger.SaidBy(having, name), true
}

// shows reports whether required evidence is about an observation: then it is what the
// comparison is about.
func (q *Question) shows(launches []*ledger.Launch, name string) bool {
	for _, l := range launches {
		for _, text := range slices.Concat(q.MustSeeA, q.MustSeeB) {
			o := l.Observed[name]
			if g, err := logscan.ParseGlob(text); err == nil && g.Names(o.Line, o.At, o.To, o.Whole) {
				return true
			}
		}
	}
	return false
}

// environments compares fingerprints, trees and caches.
func (r *Result) environments(q *Question) {
	if len(r.A.All) == 0 || len(r.B.All) == 0 {
		return
	}
	for _, name := range entryNames(slices.Concat(r.A.All, r.B.All)) {
		a, b := Entries(r.A.All, name), Entries(r.B.All, name)
		if a == b {
			r.Same++
			continue
		}
		if a == UnknownEntry && !cameUp(r.A.All) || b == UnknownEntry && !cameUp(r.B.All) {
			continue // it broke before it could be queried
		}
		d := Diff{What: name, Name: name, A: a, B: b}
		if slices.Contains(q.Accept, name) || slices.Contains(q.Accept, "all") || strings.HasPrefix(name, "repo.") && slices.Contains(q.Accept, "repo.*") {
			d.Intended = "yes: --accept"
		} else if r.Verdict.Decided() {
			d.Intended = "follows from the commands"
		}
		r.Differs = append(r.Differs, d)
	}
	if a, b := Caches(r.A.All), Caches(r.B.All); a != b && r.A.All[0].Purpose == r.B.All[0].Purpose {
		r.Differs = append(r.Differs, Diff{What: "compilers' caches", A: a, B: b})
	}
}

// entryNames are the environment entries that any launch found.
func entryNames(launches []*ledger.Launch) []string {
	var found []map[string]string
	for _, l := range launches {
		found = append(found, l.Fingerprint)
	}
	return names(found...)
}

// UnknownEntry stands for a value that could not be determined.
const UnknownEntry = "unknown"

// cameUp reports whether a server came up at least once.
func cameUp(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return l.OK })
}

// Entries are the values of an entry over launches.
func Entries(launches []*ledger.Launch, name string) string {
	text := report.Entries(launches, name)
	if slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return l.Fingerprint[name] == "" }) {
		return strings.TrimPrefix(text+", "+UnknownEntry, ", ")
	}
	return text
}

// Caches are the states of the compilers' caches over launches, as far as known.
func Caches(launches []*ledger.Launch) string {
	var seen []string
	for _, l := range launches {
		if text := l.Engine["caches"]; text != "" && !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	return strings.Join(seen, ", ")
}

// tellsPort reports whether a variable only tells a server its port, or is absent.
func tellsPort(value string) bool { return value == unset || value == "{port}" }

// unset stands for a variable that a command does not set.
const unset = "–"

func setTo(env map[string]string, name string) string {
	if v, ok := env[name]; ok {
		return v
	}
	return unset
}

// names are the keys of maps, sorted.
func names(maps ...map[string]string) (keys []string) {
	for _, m := range maps {
		for name := range m {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
