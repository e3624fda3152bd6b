package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
)

// describeKind prints a profile in full.
func (a *app) describeKind(k kinds.Kind) {
	fmt.Fprintf(a.stdout, "%s\n\n%s\n", k.Name, wrap(k.Doc, 78))
	a.section("how it starts", [][2]string{
		{"launchers", strings.Join(launchersOf(k), ", ")},
		{"command", strings.Join(k.Command, " ")},
		{"image", strings.TrimSpace(k.Image + " " + strings.Join(k.ImageCommand, " "))},
		{"port in the image", nonZero(k.Port)},
		{"its container", containerWords(k.Container)},
		{"environment", words(k.Env)},
		{"configuration", strings.TrimSpace(k.ConfigName + " " + strings.Join(k.ConfigArgs, " "))},
		{"ready", probes(k.Ready)},
		{"ready within", k.DefaultReadyTimeout.String()},
		{"stops within", k.DefaultStopGrace.String()},
	})
	a.settings(k)
	a.section("what it tells", [][2]string{
		{"version", patternSource(k.Version)},
		{"pages", strings.Join(k.Info, " ")},
		{"metrics", k.Metrics.Path},
		{"metrics need", strings.Join(k.Metrics.Needs, " ")},
		{"token counts", tokenizeWords(k.Tokenize)},
	})
	var rows [][]string
	for _, p := range k.Observe {
		rows = append(rows, []string{p.Name, strings.TrimSpace(string(p.Type) + " " + p.Unit), p.Doc, patternSource(p)})
	}
	a.rows("observations, engine.observed.*", []string{"name", "type", "what", "from"}, rows)
	rows = nil
	for _, name := range slices.Sorted(maps.Keys(k.Metrics.Names)) {
		rows = append(rows, []string{name, strings.Join(k.Metrics.Names[name], ", ")})
	}
	a.rows("metrics, newest name first", []string{"name", "the engine's names"}, rows)
	a.section("what it can be asked", [][2]string{
		{"ignore_eos", yes(k.Ask.IgnoreEOS)},
		{"min_tokens", yes(k.Ask.MinTokens)},
		{"log-probabilities", orNo(k.Ask.Logprobs)},
		{"those of prompts", orNo(k.Ask.PromptLogprobs)},
		{"usage in streams", yes(k.Ask.Usage)},
		{"usage in each event", yes(k.Ask.ContinuousUsage)},
		{"cached tokens", k.Ask.CachedTokens},
		{"empties its cache", k.Ask.CacheReset},
	})
	rows = nil
	for _, s := range k.Crashes {
		rows = append(rows, []string{s.Class, s.Glob, s.Means})
	}
	a.rows("log lines that show that it broke", []string{"class", "line", "what it means"}, rows)
	rows = nil
	for _, glob := range k.Harmless {
		rows = append(rows, []string{glob})
	}
	a.rows("log lines that look like it and are harmless", []string{"line"}, rows)
	if k.Example != "" {
		fmt.Fprintf(a.stdout, "\nin a plan\n\n%s\n", indent(k.Example))
	}
}

// settings prints what a plan may set and what becomes of it.
func (a *app) settings(k kinds.Kind) {
	var rows [][]string
	for _, s := range k.Settings {
		rows = append(rows, []string{s.Name, settingType(s), wrap(settingTarget(s), 44), strings.TrimSpace(s.Doc + defaultWords(s.Default))})
	}
	a.rows("settings", []string{"name", "type", "becomes", "what"}, rows)
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
	var to []string
	add := func(text string) {
		if text != "" {
			to = append(to, text)
		}
	}
	add(s.Flag)
	add(s.OffFlag)
	for _, flag := range s.Also {
		add(flag)
	}
	if s.Env != "" {
		add("env " + s.Env)
	}
	if s.Key != "" {
		add("key " + s.Key)
	}
	for _, word := range []struct {
		when string
		e    *kinds.Effect
	}{{"on:", s.On}, {"off:", s.Off}} {
		if word.e != nil {
			add(word.when + " " + effectWords(*word.e))
		}
	}
	for _, f := range s.Fields {
		add(f.Name + " " + settingTarget(f))
	}
	return strings.Join(to, ", ")
}

func effectWords(e kinds.Effect) string {
	parts := slices.Clone(e.Flags)
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		parts = append(parts, name+"="+e.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(e.Config)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, e.Config[name]))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " ")
}
