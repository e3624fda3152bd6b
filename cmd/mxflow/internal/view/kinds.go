package view

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/steps"
)

// Kinds prints the kinds, one per line.
func Kinds(on table.Screen) {
	var rows [][]string
	for _, k := range kinds.All() {
		what, _, _ := strings.Cut(k.Doc, ". ")
		rows = append(rows, []string{k.Name, strings.TrimSuffix(what, ".") + "."})
	}
	on.Table([]string{"kind", "what it is"}, rows)
	fmt.Fprintln(on, "\nmxflow engine kinds KIND shows more about one.")
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

// KindJSON is a profile with the plan's names, without empty fields.
func KindJSON(k kinds.Kind) any {
	out := snake(k).(map[string]any)
	out["launchers"] = launchersOf(k)
	return out
}

// Kind prints what a plan needs of a profile; JSON has the rest.
func Kind(on table.Screen, k kinds.Kind) {
	port := ""
	if k.Port > 0 {
		port = strconv.Itoa(k.Port)
	}
	fmt.Fprintf(on, "%s\n\n%s\n", k.Name, table.Wrap(k.Doc, 78))
	on.Section("how it starts", [][2]string{
		{"launchers", strings.Join(launchersOf(k), ", ")},
		{"command", strings.Join(k.Command, " ")},
		{"image", strings.TrimSpace(k.Image + " " + strings.Join(k.ImageCommand, " "))},
		{"port in the image", port},
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
		rows = append(rows,
			[]string{string(s.Class), fmt.Sprintf("%q: %s", strings.ReplaceAll(s.Glob, "\n", " or "), s.Means)})
	}
	on.Rows("log lines that show errors", []string{"class", "line"}, rows)
	if k.Example != "" {
		fmt.Fprintf(on, "\nin a plan\n\n  %s\n", strings.ReplaceAll(k.Example, "\n", "\n  "))
	}
	fmt.Fprintf(on, "\nmxflow engine kinds %s --json has everything.\n", k.Name)
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

// snake is a value as JSON with the plan's names: struct fields in snake_case, empty ones
// left out, durations as text.
func snake(v any) any { return snakeValue(reflect.ValueOf(v)) }

func snakeValue(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return snakeValue(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				out[snakeName(f.Name)] = snakeValue(v.Field(i))
			}
		}
		return out
	case reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, snakeValue(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = snakeValue(it.Value())
		}
		return out
	}
	return v.Interface()
}

// snakeName converts ShmSize to shm_size, IgnoreEOS to ignore_eos, AskIDs to ask_ids and
// JQ to jq.
func snakeName(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		upper := unicode.IsUpper(r)
		begins := i > 0 && upper && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) &&
			unicode.IsLower(letters[i+1]) && string(letters[i+1:]) != "s")
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
