// Package engines prints what is known about a kind of engine, and what was recognised in
// a started engine. It knows no flags and starts nothing.
package engines

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/steps"
)

// List prints the kinds, one per line.
func List(on table.Screen) {
	var rows [][]string
	for _, k := range kinds.All() {
		what, _, _ := strings.Cut(k.Doc, ". ")
		rows = append(rows, []string{k.Name, strings.TrimSuffix(what, ".") + "."})
	}
	on.Table([]string{"kind", "what it is"}, rows)
	fmt.Fprintln(on, "\nmxflow engine kinds KIND shows more about one.")
}

// portOf is the port in a kind's image, empty if it has none.
func portOf(k kinds.Kind) string {
	if k.Port == 0 {
		return ""
	}
	return strconv.Itoa(k.Port)
}

// launchersOf are the blocks that can launch an engine of a kind. A kind that is not a
// server cannot be found running.
func launchersOf(k kinds.Kind) []string {
	var words []string
	for word, p := range steps.Registry().EngineParts {
		if p.Launcher && (len(k.Ready) > 0 || word != "endpoint" && word != "compose") {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return append([]string{"process"}, words...)
}

// Describe prints what a plan needs of a profile.
func Describe(on table.Screen, k kinds.Kind) {
	fmt.Fprintf(on, "%s\n\n%s\n", k.Name, table.Wrap(k.Doc, 78))
	on.Section("how it starts", [][2]string{
		{"launchers", strings.Join(launchersOf(k), ", ")},
		{"command", strings.Join(k.Command, " ")},
		{"image", strings.TrimSpace(k.Image + " " + strings.Join(k.ImageCommand, " "))},
		{"port in the image", portOf(k)},
		{"environment", verdict.Pairs(k.Env, "=", " ")},
		{"ready within", k.DefaultReadyTimeout.String()},
	})
	var rows [][]string
	for _, s := range k.Settings {
		doc := s.Doc
		if s.Default != "" {
			doc = strings.TrimSpace(doc + " Default: " + s.Default + ".")
		}
		rows = append(rows, []string{s.Name, settingTarget(s) + " " + settingType(s) + ": " + doc})
	}
	on.Rows("settings", []string{"name", "what it becomes"}, rows)
	rows = nil
	for _, p := range k.Observe {
		rows = append(rows, []string{p.Name, strings.TrimSpace(string(p.Type) + " " + p.Unit), p.Doc})
	}
	on.Rows("observations, engine.observed.*", []string{"name", "type", "what"}, rows)
	rows = nil
	for _, s := range k.Signatures() {
		rows = append(rows, []string{string(s.Class), fmt.Sprintf("%q: %s", strings.ReplaceAll(s.Glob, "\n", " or "), s.Means)})
	}
	on.Rows("log lines that show errors", []string{"class", "line"}, rows)
	if k.Example != "" {
		fmt.Fprintf(on, "\nin a plan\n\n  %s\n", strings.ReplaceAll(k.Example, "\n", "\n  "))
	}
}

func settingType(s kinds.Setting) string {
	switch {
	case len(s.Choices) > 0:
		return strings.Join(s.Choices, "|")
	case s.Whole:
		return "integer"
	}
	return string(s.Type)
}

// settingTarget is the flag, variable and key that carry a setting.
func settingTarget(s kinds.Setting) string {
	to := append([]string{s.Flag, s.OffFlag}, s.Also...)
	if s.Env != "" {
		to = append(to, "env "+s.Env)
	}
	if s.Key != "" {
		to = append(to, "key "+s.Key)
	}
	if s.On != nil {
		to = append(to, "on: "+effectWords(*s.On))
	}
	if s.Off != nil {
		to = append(to, "off: "+effectWords(*s.Off))
	}
	for _, f := range s.Fields {
		to = append(to, f.Name+" "+settingTarget(f))
	}
	to = slices.DeleteFunc(to, func(text string) bool { return text == "" })
	return strings.Join(to, ", ")
}

func effectWords(e kinds.Effect) string {
	parts := slices.Clone(e.Flags)
	if len(e.Env) > 0 {
		parts = append(parts, verdict.Pairs(e.Env, "=", " "))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Config)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, e.Config[name]))
	}
	return cmp.Or(strings.Join(parts, " "), "nothing")
}
