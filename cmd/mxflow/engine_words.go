package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
)

// section prints pairs of a name and what stands there, without the empty ones.
func (a *app) section(title string, pairs [][2]string) {
	width := 0
	for _, p := range pairs {
		if p[1] != "" {
			width = max(width, len(p[0]))
		}
	}
	if width == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "\n%s\n", title)
	for _, p := range pairs {
		if p[1] != "" {
			fmt.Fprintf(a.stdout, "  %-*s  %s\n", width, p[0], strings.ReplaceAll(p[1], "\n", "\n"+strings.Repeat(" ", width+4)))
		}
	}
}

// rows prints a table with its title, unless it is empty.
func (a *app) rows(title string, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "\n%s\n\n", title)
	a.printTable(head, rows)
}

// patternSource says where an observation is looked for.
func patternSource(p kinds.Pattern) string {
	switch {
	case len(p.Log) > 0:
		return "log " + strings.Join(p.Log, " or ")
	case len(p.Metric) > 0:
		return "metric " + strings.Join(p.Metric, " or ")
	case p.File != "":
		return strings.TrimSpace("file " + p.File + " " + p.JQ)
	case p.Path != "":
		return strings.TrimSpace("GET " + p.Path + " " + p.JQ)
	}
	return ""
}

func probes(all []kinds.Probe) string {
	var out []string
	for _, p := range all {
		text := "GET " + p.Path
		if p.Body != "" {
			text = "POST " + p.Path + " " + p.Body
		}
		if p.Fallback != "" {
			text += ", or " + p.Fallback + " where that is unknown"
		}
		if p.Contains != "" {
			text += fmt.Sprintf(", with %q in the answer", p.Contains)
		}
		out = append(out, text)
	}
	return strings.Join(out, "\nthen ")
}

func containerWords(c kinds.Container) string {
	var out []string
	if c.IPC != "" {
		out = append(out, "ipc "+c.IPC)
	}
	if c.ShmSize != "" {
		out = append(out, "shm_size "+c.ShmSize)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Ulimits)) {
		out = append(out, "ulimit "+name+" "+c.Ulimits[name])
	}
	return strings.TrimSpace(strings.Join(out, ", ") + " " + words(c.Env))
}

func words(env map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return strings.Join(out, " ")
}

func tokenizeWords(t kinds.Tokenize) string {
	if t.Path == "" {
		return ""
	}
	return fmt.Sprintf("POST %s {%q: …}, %s", t.Path, t.Field, t.Count)
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orNo(s string) string {
	if s == "" {
		return "no"
	}
	return s
}

func defaultWords(s string) string {
	if s == "" {
		return ""
	}
	return " Default: " + s + "."
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
