package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load/mock"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/levels"
)

func (a *app) engineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "engine",
		Short: "What mxflow knows of engines, and the engine it contains",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.engineCheckCommand(), a.engineKindsCommand(), a.engineMockCommand(), a.engineServeCommand())
	return c
}

func (a *app) engineServeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the embedded engine",
		Long: `Runs the engine that mxflow contains: a small decoder in pure Go, shaped like
gpt-oss, with an OpenAI-like HTTP API. It is what the examples measure.

` + switchesHelp(),
		Example:            "  mxflow engine serve --port 8000\n  MXFLOW_EMBEDDED_KV_CACHE=off mxflow engine serve --port 8000",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "--help" || arg == "-h" {
					return c.Help()
				}
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return embedded.Serve(ctx, args, os.Getenv, a.stdout, a.stderr)
		},
	}
	return c
}

// switchesHelp lists flags and environment of the embedded engine.
func switchesHelp() string {
	var b strings.Builder
	b.WriteString("Flags:\n")
	for _, s := range embedded.Settings() {
		fmt.Fprintf(&b, "  --%-18s %s (default %s)\n", strings.ReplaceAll(s.Name, "_", "-"), s.Doc, s.Default)
	}
	b.WriteString("\nEnvironment:\n")
	for _, s := range embedded.Switches() {
		fmt.Fprintf(&b, "  %s=%s (default %s)\n      %s\n", s.Env, strings.Join(s.Values, "|"), s.Default, s.Doc)
	}
	return b.String()
}

// engineCheck is what the command line asks for.
type engineCheck struct {
	vars    []load.Given
	sets    []string
	keepLog bool
}

func (a *app) engineCheckCommand() *cobra.Command {
	var q engineCheck
	c := &cobra.Command{
		Use:   "check PLAN [NAME]",
		Short: "Start one engine of a plan, ask it for a token, and say what was recognised",
		Long: `Starts one engine of the plan as a run would, asks it all that measuring will ask
it, prints what it said and what was recognised, and stops it. Nothing is
recorded. NAME is the engine, as vllm.gb10 or gb10; without it, the baseline's,
or the only one.

Ctrl-C stops the engine in order, a second one at once.

Exit status: 0 the engine answers, 1 usage or plan error, 4 the engine broke,
130 interrupted.`,
		Example: "  mxflow engine check plan.hcl\n  mxflow engine check plan.hcl vllm.gb10 --set moe_kernel=gemm\n  mxflow engine check plan.hcl --keep-log --json",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			name := ""
			if len(args) > 1 {
				name = args[1]
			}
			return a.checkEngine(c.Context(), args[0], name, q)
		},
	}
	varFlag(c, &q.vars)
	c.Flags().StringArrayVar(&q.sets, "set", nil, "start the variant with this knob value, as knob=value (repeatable)")
	c.Flags().BoolVar(&q.keepLog, "keep-log", false, "keep the engine's log and print its path")
	a.jsonFlag(c, "print as JSON")
	return c
}

func (a *app) checkEngine(ctx context.Context, path, name string, q engineCheck) error {
	p, g, _, err := a.loadWith(path, load.Options{Inputs: q.vars, Unproven: true})
	if err != nil {
		return err
	}
	key, err := engineNamed(p, name)
	if err != nil {
		return err
	}
	set, err := knobValues(p, q.sets)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mxflow-check-")
	if err != nil {
		return err
	}
	if !q.keepLog {
		defer os.RemoveAll(dir)
	}
	// What a check that is killed leaves running carries the mark of the plan's
	// state directory, so that the next apply finds and stops it.
	lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Owner: apply.Owner(a.stateDir(path)), RunDir: dir, Note: notes{a}.Note})
	if err != nil {
		return err
	}
	soft, hard, release := signals(ctx, a.stderr)
	defer release()
	if !a.json {
		fmt.Fprintf(a.stderr, "starting engine %s\n", key)
	}
	out, err := levels.CheckEngine(soft, hard, &lab.Lab.Lab, key, set)
	switch {
	case errors.Is(err, context.Canceled):
		a.exit = verdict.ExitInterrupted
		fmt.Fprintf(a.stderr, "interrupted; engine %s was stopped\n", key)
		return nil
	case err != nil:
		return err
	}
	if !q.keepLog {
		out.Log = ""
	}
	if !out.OK {
		a.exit = verdict.ExitBroken
	}
	if a.json {
		a.printJSON(out)
		return nil
	}
	a.printCheck(out)
	return nil
}

// engineNamed finds an engine by "kind.name" or its name alone.
func engineNamed(p *plans.Plan, name string) (string, error) {
	var keys, fit []string
	for _, e := range p.Engines {
		key := e.Kind + "." + e.Name
		keys = append(keys, key)
		if name == key || name == e.Name {
			fit = append(fit, key)
		}
	}
	switch {
	case len(keys) == 0:
		return "", errors.New("the plan declares no engine")
	case name == "" && p.Baseline != nil:
		return p.Baseline.Engine, nil
	case name == "" && len(keys) == 1:
		return keys[0], nil
	case name == "":
		return "", fmt.Errorf("the plan has several engines and no baseline: name one of %s", strings.Join(keys, ", "))
	case len(fit) == 0:
		return "", fmt.Errorf("the plan has no engine %q: it has %s", name, strings.Join(keys, ", "))
	case len(fit) > 1:
		return "", fmt.Errorf("%q may be any of %s: give its kind too", name, strings.Join(fit, ", "))
	}
	return fit[0], nil
}

// knobValues reads --set flags.
func knobValues(p *plans.Plan, sets []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range sets {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--set %s: write it as knob=value", text)
		}
		i := slices.IndexFunc(p.Knobs, func(k *plans.Knob) bool { return k.Name == name })
		if i < 0 {
			var names []string
			for _, k := range p.Knobs {
				names = append(names, k.Name)
			}
			return nil, fmt.Errorf("--set %s: the plan has no knob %q, only %s", text, name, orNone(names))
		}
		if p.Knobs[i].Value(value) == nil {
			var names []string
			for _, v := range p.Knobs[i].Values {
				names = append(names, v.Name)
			}
			return nil, fmt.Errorf("--set %s: knob %s has no value %q, only %s", text, name, value, orNone(names))
		}
		values[name] = value
	}
	return values, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none at all"
	}
	return strings.Join(names, ", ")
}

// printCheck prints what came of it, as people read it.
func (a *app) printCheck(c *levels.EngineCheck) {
	if c.OK {
		fmt.Fprintf(a.stdout, "%s works: ready %s, first token %s\n", c.Engine, after(c.StartupS, "(it was running)"), after(c.FirstRequestS, "at once"))
	} else {
		fmt.Fprintf(a.stdout, "%s broke: %s\n", c.Engine, tell.Line(c.Error))
		if len(c.LogTail) > 0 {
			fmt.Fprintln(a.stdout, "\nlast lines of its log")
			for _, line := range c.LogTail {
				fmt.Fprintf(a.stdout, "  | %s\n", line)
			}
		}
	}
	a.section("what was started", startedWords(c))
	var rows [][2]string
	for _, name := range slices.Sorted(maps.Keys(c.Observed)) {
		rows = append(rows, [2]string{name, observedWords(c.Observed[name])})
	}
	a.section("what it says of itself", rows)
	rows = nil
	for _, name := range slices.Sorted(maps.Keys(c.Unobserved)) {
		rows = append(rows, [2]string{name, tell.Line(c.Unobserved[name])})
	}
	a.section("what it does not say", rows)
	rows = nil
	if c.Answer != "" || c.Prompt != "" {
		rows = append(rows, [2]string{"  answer", fmt.Sprintf("%q continues as %q", c.Prompt, c.Answer)})
	}
	for _, f := range c.Findings {
		mark := "  "
		if !f.Good {
			mark = "! "
		}
		rows = append(rows, [2]string{mark + f.Name, tell.Line(f.Says)})
	}
	a.section("what was tried (! is what a measurement would suffer from)", rows)
	rows = nil
	for _, n := range c.Notes {
		rows = append(rows, [2]string{"-", tell.Line(n)})
	}
	a.section("notes", rows)
	if c.Log != "" {
		fmt.Fprintf(a.stdout, "\nlog: %s\n", filepath.Clean(c.Log))
	}
}

// startedWords are what was started, in the order in which people look for it.
func startedWords(c *levels.EngineCheck) [][2]string {
	rows := [][2]string{{"kind", c.Kind}, {"launcher", c.Launcher}}
	var knobs []string
	for _, name := range slices.Sorted(maps.Keys(c.Knobs)) {
		knobs = append(knobs, name+" = "+c.Knobs[name])
	}
	rows = append(rows, [2]string{"knobs", strings.Join(knobs, ", ")})
	model := c.Model
	if c.MaxModelLen > 0 {
		model += fmt.Sprintf(" (up to %d tokens)", c.MaxModelLen)
	}
	rows = append(rows, [2]string{"model", model})
	if len(c.Models) > 1 {
		rows = append(rows, [2]string{"models", strings.Join(c.Models, ", ")})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Started)) {
		value := c.Started[name]
		switch {
		case name == "kind", name == "command" && c.Started["resolved_command"] != "":
			continue
		case name == "fresh" && value == "no":
			value = "no: without restart it is not started anew, and nothing can be compared"
		}
		if !strings.HasPrefix(name, "env.") {
			name = strings.ReplaceAll(name, "_", " ")
		}
		rows = append(rows, [2]string{name, value})
	}
	return rows
}

// observedWords is a value with its unit and where it was seen.
func observedWords(o ledger.Observed) string {
	value := o.String()
	if word, ok := o.Value.(string); ok {
		value = word
	}
	return value + "  (" + o.From + ")"
}

// after says how long something took.
func after(seconds *float64, otherwise string) string {
	switch {
	case seconds == nil:
		return otherwise
	case *seconds < 1:
		return fmt.Sprintf("after %.1f ms", *seconds*1000)
	}
	return fmt.Sprintf("after %.2f s", *seconds)
}

// describeKind prints a profile in full.
func (a *app) describeKind(k kinds.Kind) {
	fmt.Fprintf(a.stdout, "%s\n\n%s\n", k.Name, table.Wrap(k.Doc, 78))
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
		rows = append(rows, []string{s.Name, settingType(s), table.Wrap(settingTarget(s), 44), strings.TrimSpace(s.Doc + defaultWords(s.Default))})
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

func (a *app) engineKindsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "kinds [KIND]",
		Short: "List the kinds of engine that a plan may name, or all that is known of one",
		Long: `Without KIND, the kinds of engine: what each is, its image and port, and how it
can be launched. With KIND, the whole profile: settings and what they become,
readiness, observations, metrics, how it shows that it broke.`,
		Example: "  mxflow engine kinds\n  mxflow engine kinds vllm\n  mxflow engine kinds vllm --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				a.listKinds()
				return nil
			}
			k, ok := kinds.Lookup(args[0])
			if !ok {
				return fmt.Errorf("there is no kind %q: mxflow engine kinds lists them", args[0])
			}
			if a.json {
				a.printJSON(kindJSON(k))
				return nil
			}
			a.describeKind(k)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	return c
}

func (a *app) listKinds() {
	kinds := kinds.All()
	if a.json {
		all := []any{}
		for _, k := range kinds {
			all = append(all, kindJSON(k))
		}
		a.printJSON(all)
		return
	}
	var rows [][]string
	for _, k := range kinds {
		what, _, _ := strings.Cut(k.Doc, ". ")
		port := ""
		if k.Port > 0 {
			port = fmt.Sprint(k.Port)
		}
		rows = append(rows, []string{k.Name, k.Image, port, strings.Join(launchersOf(k), " "), strings.TrimSuffix(what, ".") + "."})
	}
	a.printTable([]string{"kind", "image", "port", "launchers", "what it is"}, rows)
	fmt.Fprintln(a.stdout, "\nmxflow engine kinds KIND tells all that is known of one.")
}

// launchersOf are the blocks by which an engine of a kind can be launched.
// What is no server cannot be found running.
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

// kindJSON is a profile with the names that plans use, and without what it
// leaves open.
func kindJSON(k kinds.Kind) any {
	out := snake(k).(map[string]any)
	out["launchers"] = launchersOf(k)
	return out
}

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

// engineMockCommand runs the server whose times are known, against which the
// measuring client calibrates itself. It is hidden: mxflow starts it by itself.
func (a *app) engineMockCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "mock [flags]",
		Short:              "Run the mock server that the measuring client is calibrated with",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return mock.Main(ctx, args, os.Stdin, a.stdout, a.stderr)
		},
	}
}
