package ab

import (
	"cmp"
	"slices"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/variant"
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
	if len(r.A.All) == 0 || len(r.B.All) == 0 {
		return
	}
	came := !slices.ContainsFunc([]Side{r.A, r.B}, func(s Side) bool {
		return !slices.ContainsFunc(s.All, func(l *ledger.Launch) bool { return l.OK })
	})
	follows := ""
	if r.Verdict.Decided() {
		follows = "follows from what is compared"
	}
	differ := func(d Diff, none string, of func(*ledger.Launch) string) {
		d.A, d.B = cmp.Or(report.Distinct(r.A.All, of), none), cmp.Or(report.Distinct(r.B.All, of), none)
		switch {
		case d.A != d.B && (came || d.A != none && d.B != none): // else one broke before it could be asked
			r.Differs = append(r.Differs, d)
		case d.A == d.B && d.A != none:
			r.Same++
		}
	}
	all := slices.Concat(r.A.All, r.B.All)
	// What the servers report about themselves.
	var reported []string
	for _, p := range q.Kind.Observe {
		if !p.Consequence {
			reported = append(reported, p.Name)
		}
	}
	slices.Sort(reported)
	for _, name := range slices.Compact(reported) {
		d := Diff{What: name + " (observed)", Name: name, Observed: true}
		switch {
		case q.Versions():
			d.Intended = is
		case slices.Contains(q.Changes, name):
			d.Intended = "yes: --changes"
		case q.shows(all, name):
			d.Intended = "yes: --must-see"
		case q.Of != nil:
			d.Intended = follows
		}
		differ(d, "not reported", func(l *ledger.Launch) string {
			if o, has := l.Observed[name]; has {
				return o.String()
			}
			return ""
		})
	}
	// Their environments.
	var found []map[string]string
	for _, l := range all {
		found = append(found, l.Fingerprint)
	}
	for _, name := range names(found...) {
		d := Diff{What: name, Name: name, Intended: follows}
		if variant.IsFree(name, q.Accept) {
			d.Intended = "yes: --accept"
		}
		differ(d, unknown, func(l *ledger.Launch) string {
			return cmp.Or(report.Entries([]*ledger.Launch{l}, name), unknown)
		})
	}
	caches := func(l *ledger.Launch) string { return l.Engine["caches"] }
	a, b := report.Distinct(r.A.All, caches), report.Distinct(r.B.All, caches)
	if a != b && r.A.All[0].Purpose == r.B.All[0].Purpose {
		r.Differs = append(r.Differs, Diff{What: "compilers' caches", A: a, B: b})
	}
}

// is marks what the comparison is about.
const is = "yes: compared"

// Versions reports whether A and B are versions of the engine, so all that they are is compared.
func (q *Question) Versions() bool { return len(q.Refs)+len(q.Images)+len(q.Pins) > 0 }

// unset stands for a variable that a command does not set, unknown for what could not be determined.
const unset, unknown = "–", "unknown"

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

func names(maps ...map[string]string) (keys []string) {
	for _, m := range maps {
		for name := range m {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
