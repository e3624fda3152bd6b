package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// compared says what was measured, so that the result can be read where the
// command line was not seen: the commands, what they were sent, on what.
func (s *abShow) compared(r *abResult) [][2]string {
	return [][2]string{
		{"A", oneLine(s.q.arms[0].Text)},
		{"B", oneLine(s.q.arms[1].Text)},
		{"load", s.q.sent()},
		{"both", wrap(r.shared(s.q), s.columnBehind(len("  machine  ")))},
		{"machine", imported.Printable(machineWords(slices.Concat(r.A.all, r.B.all)))},
	}
}

// sent is what a launch was sent.
func (q *ab) sent() string {
	text := fmt.Sprintf("%s in", count(q.pp, "token"))
	if q.depth > 0 {
		text += fmt.Sprintf(" after %d of context", q.depth)
	}
	text += fmt.Sprintf(", %d out, %d at a time; %s a launch after %d to warm up", q.tg, max(q.concurrency, 1), count(q.requests, "request"), q.warmup)
	if q.api != "completions" && q.api != "" {
		text += "; " + q.api
	}
	return text
}

// shared is what both servers said of themselves alike: their version first.
func (r *abResult) shared(q *ab) string {
	var version string
	var same []string
	seen := map[string]bool{}
	for _, p := range q.kind.Observe {
		if p.Varies || seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		a := said(r.A.all, p.Name)
		if a == "not said" || a != said(r.B.all, p.Name) {
			continue
		}
		same = append(same, p.Name+" "+strings.Trim(a, `"`))
	}
	if v := said(r.A.all, "version"); v != "not said" && v == said(r.B.all, "version") {
		version = " " + strings.Trim(v, `"`)
	}
	if version == "" && len(same) == 0 {
		return ""
	}
	return imported.Printable(strings.Join(append([]string{q.kind.Name + version}, same...), ", "))
}

// machineWords are what launches ran on, as far as all agree.
func machineWords(launches []*ledger.Launch) string {
	var parts []string
	for _, e := range []struct{ name, format string }{{"gpu", "%s"}, {"driver", "driver %s"}, {"cpu", "%s"}, {"cores", "%s cores"}, {"mem_gib", "%s GiB"}, {"os", "%s"}} {
		if v := entries(launches, e.name); v != "" && !strings.Contains(v, unknownEntry) {
			parts = append(parts, fmt.Sprintf(e.format, v))
		}
	}
	return strings.Join(parts, ", ")
}

// tellsPort reports whether a variable does no more than tell a server its port, or
// does not stand there at all.
func tellsPort(value string) bool { return value == unset || value == "{port}" }

// unset stands for a variable that a command has not.
const unset = "–"

func setTo(env map[string]string, name string) string {
	if v, ok := env[name]; ok {
		return v
	}
	return unset
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
