package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// abDiff is one thing in which A and B differ.
type abDiff struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
	// Intended is why it may differ; empty where nobody said that it may.
	Intended string `json:"intended,omitempty"`
	// observed is set for what the servers say of themselves.
	observed bool
}

// differences are the metrics of both arms, and all in which they are known to
// differ: what the commands say, what the servers say of themselves, what was
// found out about their environments.
func (r *abResult) differences(q *ab) {
	r.metrics(q)
	is := "yes: it is what is compared"
	own := q.shape.Own
	for _, name := range slices.Sorted(maps.Keys(union(own[0].Env, own[1].Env))) {
		d := abDiff{What: name, A: setTo(own[0].Env, name), B: setTo(own[1].Env, name), Intended: is}
		if tellsPort(d.A) && tellsPort(d.B) {
			d.Intended = "yes: it says where one listens"
		}
		r.Differs = append(r.Differs, d)
	}
	switch {
	case own[1].Command != nil:
		r.Differs = append(r.Differs, abDiff{What: "command", A: shellJoin(q.arms[0].Words), B: shellJoin(q.arms[1].Words), Intended: is})
	case len(own[0].Args)+len(own[1].Args) > 0:
		r.Differs = append(r.Differs, abDiff{What: "arguments", A: orDash(shellJoin(own[0].Args)), B: orDash(shellJoin(own[1].Args)), Intended: is})
	}
	r.observations(q)
	r.environments(q)
}

// observations compares what the servers said of themselves.
func (r *abResult) observations(q *ab) {
	if !speaks(r.A.all) || !speaks(r.B.all) {
		return // one of them did not get so far
	}
	steady := map[string]bool{}
	for _, p := range q.kind.Observe {
		steady[p.Name] = !p.Varies
	}
	all := map[string]bool{}
	for _, l := range slices.Concat(r.A.all, r.B.all) {
		for name := range l.Observed {
			all[name] = all[name] || steady[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !all[name] {
			continue
		}
		a, b := said(r.A.all, name), said(r.B.all, name)
		if a == b {
			r.Same++
			continue
		}
		d := abDiff{What: name + " (observed)", A: a, B: b, observed: true}
		switch {
		case slices.Contains(q.changes, name):
			d.Intended = "yes: --changes"
		case q.shows(r.A.all, name) || q.shows(r.B.all, name):
			d.Intended = "yes: --must-see"
		default:
			r.Advice = append(r.Advice, fmt.Sprintf("If %s is meant to differ, say so: --changes %s.", name, name))
		}
		r.Differs = append(r.Differs, d)
	}
}

// speaks reports whether a launch came so far as to be asked what it is.
func speaks(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return l.OK && len(l.Observed) > 0 })
}

func said(launches []*ledger.Launch, name string) string {
	having := slices.DeleteFunc(slices.Clone(launches), func(l *ledger.Launch) bool { _, has := l.Observed[name]; return !has })
	if len(having) == 0 {
		return "not said"
	}
	return report.SaidBy(having, name)
}

// shows reports whether the line from which something was observed is one of
// those that must be seen: then it is what the comparison is about.
func (q *ab) shows(launches []*ledger.Launch, name string) bool {
	for _, l := range launches {
		for _, g := range slices.Concat(q.mustSeeA, q.mustSeeB) {
			if line := l.Observed[name].Line; line != "" && globSees(g, line) {
				return true
			}
		}
	}
	return false
}

// environments compares fingerprints, trees and caches.
func (r *abResult) environments(q *ab) {
	if len(r.A.all) == 0 || len(r.B.all) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(union(fingerprint(r.A.all), fingerprint(r.B.all)))) {
		a, b := entries(r.A.all, name), entries(r.B.all, name)
		if a == b {
			r.Same++
			continue
		}
		if a == unknownEntry && !cameUp(r.A.all) || b == unknownEntry && !cameUp(r.B.all) {
			continue // it broke before it could be asked
		}
		d := abDiff{What: name, A: a, B: b}
		if slices.Contains(q.accept, name) || slices.Contains(q.accept, "all") || strings.HasPrefix(name, "repo.") && slices.Contains(q.accept, "repo.*") {
			d.Intended = "yes: --accept"
		} else if r.Verdict.Decided() {
			d.Intended = "follows from the commands"
		} else {
			r.Advice = append(r.Advice, fmt.Sprintf("If %s may differ, say so: --accept %s.", name, name))
		}
		r.Differs = append(r.Differs, d)
	}
	if a, b := cachesOf(r.A.all), cachesOf(r.B.all); a != b && r.A.all[0].Purpose == r.B.all[0].Purpose {
		r.Differs = append(r.Differs, abDiff{What: "compilers' caches", A: a, B: b})
	}
}

func fingerprint(launches []*ledger.Launch) map[string]string {
	all := map[string]string{}
	for _, l := range launches {
		maps.Copy(all, l.Fingerprint)
	}
	return all
}

var abDigest = regexp.MustCompile(`\b[0-9a-f]{40,64}\b`)

// unknownEntry stands for what nobody could find out.
const unknownEntry = "not known"

// cameUp reports whether a server came up at least once.
func cameUp(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return l.OK })
}

// entries are the values of an entry over launches, digests cut.
func entries(launches []*ledger.Launch, name string) string {
	var seen []string
	for _, l := range launches {
		v, known := l.Fingerprint[name]
		if !known {
			v = unknownEntry
		}
		v = abDigest.ReplaceAllStringFunc(v, func(d string) string { return d[:12] })
		if !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	return strings.Join(seen, ", ")
}

func cachesOf(launches []*ledger.Launch) string {
	var seen []string
	for _, l := range launches {
		if state := l.Engine["caches"]; state != "" && !slices.Contains(seen, state) {
			seen = append(seen, state)
		}
	}
	return strings.Join(seen, ", ")
}
