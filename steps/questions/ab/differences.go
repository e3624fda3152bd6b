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

type Diff struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
	// Name is an observation or a part of the environment.
	Name string `json:"-"`
	// Intended is the reason that it may differ; empty if it was not declared.
	Intended string `json:"intended,omitempty"`
	// Observed is set for what the servers report about themselves.
	Observed bool `json:"-"`
}

// differences fills in all known differences: in the commands, in what the servers report,
// in their environments.
func (r *Result) differences(q *Question) {
	own := q.Shape.Own
	for _, name := range names(own[0].Env, own[1].Env) {
		d := Diff{What: name, A: unset, B: unset, Intended: is}
		if v, set := own[0].Env[name]; set {
			d.A = v
		}
		if v, set := own[1].Env[name]; set {
			d.B = v
		}
		if tellsPort := []string{unset, "{port}"}; slices.Contains(tellsPort, d.A) && slices.Contains(tellsPort, d.B) {
			d.Intended = "yes: address to listen on"
		}
		r.Differs = append(r.Differs, d)
	}
	switch {
	case own[1].Command != nil:
		r.Differs = append(r.Differs,
			Diff{What: "command", A: join(q.Arms[0].Words), B: join(q.Arms[1].Words), Intended: is})
	case len(own[0].Args)+len(own[1].Args) > 0:
		r.Differs = append(r.Differs, Diff{
			What: "arguments", A: cmp.Or(join(own[0].Args), unset),
			B: cmp.Or(join(own[1].Args), unset), Intended: is,
		})
	}
	r.observations(q)
	r.environments(q)
}

// is marks what the comparison is about.
const is = "yes: compared"

// Versions reports whether A and B are versions of the engine, so all that they are is compared.
func (q *Question) Versions() bool { return len(q.Refs)+len(q.Images)+len(q.Pins) > 0 }

// unset stands for a variable that a command does not set.
const unset = "–"

// observations compares what the servers reported about themselves.
func (r *Result) observations(q *Question) {
	steady, all, spoke := map[string]bool{}, map[string]bool{}, [2]bool{}
	for _, p := range q.Kind.Observe {
		steady[p.Name] = !p.Consequence
	}
	for i, launches := range [][]*ledger.Launch{r.A.All, r.B.All} {
		for _, l := range launches {
			spoke[i] = spoke[i] || l.OK && len(l.Observed) > 0
			for name := range l.Observed {
				all[name] = all[name] || steady[name]
			}
		}
	}
	if !spoke[0] || !spoke[1] {
		return // one of them did not get that far
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, inA := Reported(r.A.All, name)
		b, inB := Reported(r.B.All, name)
		switch {
		case !all[name]:
			continue
		case inA == inB && a == b:
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
		case q.Versions():
			d.Intended = is
		case slices.Contains(q.Changes, name):
			d.Intended = "yes: --changes"
		case q.shows(slices.Concat(r.A.All, r.B.All), name):
			d.Intended = "yes: --must-see"
		case q.Of != nil && r.Verdict.Decided():
			d.Intended = "follows from what is compared"
		}
		r.Differs = append(r.Differs, d)
	}
}

// Reported is what launches reported of themselves under a name; false if none did.
func Reported(launches []*ledger.Launch, name string) (string, bool) {
	having := slices.DeleteFunc(slices.Clone(launches), func(l *ledger.Launch) bool {
		_, has := l.Observed[name]
		return !has
	})
	if len(having) == 0 {
		return "", false
	}
	return ledger.ObservedValues(having, name), true
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
	var found []map[string]string
	for _, l := range slices.Concat(r.A.All, r.B.All) {
		found = append(found, l.Fingerprint)
	}
	came := func(l *ledger.Launch) bool { return l.OK }
	for _, name := range names(found...) {
		a, b := Entries(r.A.All, name), Entries(r.B.All, name)
		if a == b {
			r.Same++
			continue
		}
		if a == UnknownEntry && !slices.ContainsFunc(r.A.All, came) ||
			b == UnknownEntry && !slices.ContainsFunc(r.B.All, came) {
			continue // it broke before it could be queried
		}
		d := Diff{What: name, Name: name, A: a, B: b}
		if slices.Contains(q.Accept, name) || slices.Contains(q.Accept, "all") || strings.HasPrefix(name, "repo.") &&
			slices.Contains(q.Accept, "repo.*") {
			d.Intended = "yes: --accept"
		} else if r.Verdict.Decided() {
			d.Intended = "follows from what is compared"
		}
		r.Differs = append(r.Differs, d)
	}
	if a, b := Caches(r.A.All), Caches(r.B.All); a != b && r.A.All[0].Purpose == r.B.All[0].Purpose {
		r.Differs = append(r.Differs, Diff{What: "compilers' caches", A: a, B: b})
	}
}

// UnknownEntry stands for a value that could not be determined.
const UnknownEntry = "unknown"

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
	return report.Distinct(launches, func(l *ledger.Launch) string { return l.Engine["caches"] })
}

func names(maps ...map[string]string) (keys []string) {
	for _, m := range maps {
		for name := range m {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
