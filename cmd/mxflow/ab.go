package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/endpoint"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/apply"
)

// ab is what the command line of `mxflow ab` asks for.
type ab struct {
	a, b, aURL, bURL           string
	url, model, asked, api     string
	pp, tg, depth, concurrency int
	requests, warmup           int
	metric, claimed            string
	launches                   int
	quick, rerun, dryRun       bool
	mustSeeA, mustSeeB         []string
	changes, accept, env       []string
	coherence, expect, caches  string
	timeout, maxLag            time.Duration
	writePlan                  string

	// What the flags come to.
	claim       abClaim
	arms        [2]abArm
	shape       abShape
	kind        kinds.Kind
	port        int
	commandLine string
	// counted says whether requests and warm-ups were asked for.
	counted [2]bool
}

// abLaunches is how often each command is started at most where nobody says.
const abLaunches = 8

// Launches of each that can decide anything: see docs/statistics.md.
const fewestLaunches, mostLaunches = 4, 12

func (a *app) abCommand() *cobra.Command {
	var q ab
	c := &cobra.Command{
		Use:   "ab --a COMMAND --b COMMAND",
		Short: "Is B faster than A? Starts both in turn, and answers with known error rates",
		Long: `Compares two commands that start a server, without a plan: each is started anew for
every launch, A and B in turn (ABBA BAAB …), sent the same prompts, watched, stopped.
Launches are what is compared, since two starts of one server differ by more than its
requests do. What comes out is a verdict with known error rates: a claim that does not
hold passes in at most 1% of cases, one that holds fails in at most 5%. It stops as
soon as the answer is known.

A COMMAND is NAME=value assignments and a program with its arguments. Quotes work as in
a shell; pipes, variables and patterns need one: --a "sh -c '…'". The server listens on
the port that it is given, {port} in the command and $PORT in a script, or where --url says.

The question is whether B is not more than 3% slower than A, with the interval beside
it. --claim '+10%' asks for more: whether it is at least 10% faster.

All of it is on record in .mxflow-ab: the same command line goes on where it stopped,
after Ctrl-C as after --quick, and --write-plan writes the plan that does the same.

Exit status: 0 pass, 1 usage or environment error, 2 fail or invalid, 3 inconclusive,
4 a server or mxflow broke, 130 interrupted.`,
		Example: `  mxflow ab --a 'KERNEL=marlin ./serve.sh' --b 'KERNEL=gemm ./serve.sh' --pp 2048 --tg 32
  mxflow ab --a 'vllm serve MODEL' --b 'vllm serve MODEL --async-scheduling' --claim +5%
  mxflow ab --a 'old/llama-server -m m.gguf' --b 'new/llama-server -m m.gguf' --metric ttft --claim=-10%
  mxflow ab --a … --b … --quick                    one launch each: at best a clear fail
  mxflow ab --a … --b … --must-see-b '*CUTLASS*' --write-plan port.hcl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := q.check(c); err != nil {
				return err
			}
			return a.runAB(c.Context(), &q)
		},
	}
	f := c.Flags()
	f.StringVar(&q.a, "a", "", "command that starts the server as it is")
	f.StringVar(&q.b, "b", "", "command that starts it as it might become")
	f.StringArrayVar(&q.env, "env", nil, "NAME=value for both (repeatable)")
	f.StringVar(&q.url, "url", "", "where both listen, such as http://localhost:8000, for commands that always take the same port")
	f.StringVar(&q.aURL, "a-url", "", "instead of --a: a server that runs already; nothing can be decided then")
	f.StringVar(&q.bURL, "b-url", "", "instead of --b: likewise")
	f.StringVar(&q.asked, "kind", "", "kind of server (default: recognised from the commands; see mxflow engine kinds)")
	f.StringVar(&q.model, "model", "", "model to ask for (default: the first that the server lists)")
	f.StringVar(&q.api, "api", "completions", "completions or chat")
	f.IntVar(&q.pp, "pp", 512, "prompt tokens")
	f.IntVar(&q.tg, "tg", 128, "output tokens")
	f.IntVar(&q.depth, "depth", 0, "tokens of context before the prompt")
	f.IntVar(&q.concurrency, "concurrency", 1, "requests kept in flight")
	f.IntVar(&q.requests, "requests", 0, "measured requests of each launch (default: 10; 30 for pp and ttft; at least 4 for each in flight)")
	f.IntVar(&q.warmup, "warmup", 0, "requests before them that are not measured (default: 3; at least one for each in flight)")
	f.StringVar(&q.metric, "metric", "tg", "what is compared: tg, pp, ttft, tpot, itl, e2e, tg_total or pp_total")
	f.StringVar(&q.claimed, "claim", "", "what B is to show: '+10%' is at least 10% more of the metric, '-3%' at most 3% less (default: no more than 3% worse)")
	f.IntVar(&q.launches, "launches", 0, fmt.Sprintf("most launches of each (default: %d)", abLaunches))
	f.BoolVar(&q.quick, "quick", false, "one launch of each; the same command without it goes on from there")
	f.StringArrayVar(&q.mustSeeA, "must-see-a", nil, "glob of a line that A must log, and B must not, such as '*Marlin backend*' (repeatable)")
	f.StringArrayVar(&q.mustSeeB, "must-see-b", nil, "glob of a line that B must log, and A must not (repeatable)")
	f.StringSliceVar(&q.changes, "changes", nil, "observations that are meant to differ, such as moe_kernel (nothing is measured again for it)")
	f.StringSliceVar(&q.accept, "accept", nil, "what may differ in the environments of launches, such as repo.vllm or packages")
	f.StringVar(&q.coherence, "coherence", "", "how answers are checked: baseline (those of B are no worse than A's), absolute or off")
	f.StringVar(&q.caches, "caches", "own", "what compilers have cached: own (each command has caches of its own, kept between its launches), cold (empty at each launch) or shared (whatever lies there)")
	f.StringVar(&q.expect, "expect", "", "what the answer to \"The capital of France is\" must contain (default: any words)")
	f.DurationVar(&q.timeout, "timeout", 0, "how long a start may take (default: the kind's own)")
	f.DurationVar(&q.maxLag, "max-lag", 0, "how late the client may be before a launch is invalid (default: 10ms)")
	f.StringVar(&q.writePlan, "write-plan", "", "write the plan that does the same there")
	f.BoolVar(&q.dryRun, "dry-run", false, "print the plan and start nothing")
	f.BoolVar(&q.rerun, "rerun", false, "measure all of it again")
	a.jsonFlag(c, "stream events as JSON, one object a line; the last one is the result")
	return c
}

// most is how many launches of each command are made at most.
func (q *ab) most() int {
	switch {
	case q.quick:
		return 1
	case q.launches > 0:
		return q.launches
	}
	return abLaunches
}

func (a *app) runAB(ctx context.Context, q *ab) error {
	if q.aURL != "" {
		return a.runningAB(ctx, q)
	}
	at, err := q.place(a.state)
	if err != nil {
		return err
	}
	if q.dryRun {
		return a.dryAB(q, at)
	}
	if err := q.writePlans(at); err != nil {
		return err
	}
	show := &abShow{Observer: a.progress(), app: a, q: q, at: at}
	if !a.json {
		show.begin()
	}
	return a.applyAB(ctx, at, show, q.rerun)
}

// applyAB applies the plan of a comparison. It is mxflow's own, so that its warnings
// point where nobody looks.
func (a *app) applyAB(ctx context.Context, at abPlace, watch apply.Observer, rerun bool) error {
	q := applying{path: at.plan, state: at.state, watch: watch, report: func(res *lang.Findings) {
		if !res.OK() {
			a.reportStreamed(res)
		}
	}}
	if rerun {
		q.rerun = []string{"all"}
	}
	a.streamVersion()
	_, err := a.apply(ctx, q)
	return err
}

// check turns flags into arms and a question, and refuses what cannot be meant
// before anything is started.
func (q *ab) check(c *cobra.Command) (err error) {
	if err := q.numbers(); err != nil {
		return err
	}
	if q.claim, err = parseClaim(q.metric, q.claimed); err != nil {
		return err
	}
	q.counts()
	set := c.Flags().Changed
	switch {
	case q.aURL != "" || q.bURL != "":
		return q.checkURLs()
	case isURL(q.a) || isURL(q.b):
		return errors.New("--a and --b are commands that start a server, and this is the address of one: for servers that run already write --a-url http://… --b-url http://…")
	case q.a == "" || q.b == "":
		return errors.New("give both commands: --a 'KERNEL=marlin ./serve.sh' --b 'KERNEL=gemm ./serve.sh'")
	case q.launches != 0 && (q.launches < fewestLaunches || q.launches > mostLaunches):
		return fmt.Errorf("--launches: %d is not between %d, where the first look is, and %d, for which the test is calibrated; --quick makes one of each", q.launches, fewestLaunches, mostLaunches)
	case q.quick && set("launches"):
		return errors.New("--quick is one launch of each: leave out --launches")
	}
	for i, side := range []struct{ flag, text string }{{"a", q.a}, {"b", q.b}} {
		if q.arms[i], err = parseArm(side.flag, side.text); err != nil {
			return err
		}
	}
	if err := q.both(); err != nil {
		return err
	}
	if _, err := shapeOf(q.arms[0], q.arms[1]); err != nil {
		return err
	}
	fixed, err := fixedURL(q.url)
	if err != nil {
		return err
	}
	if q.kind, err = kindOf(q.asked, q.arms); err != nil {
		return err
	}
	if err := q.observable(); err != nil {
		return err
	}
	var args []string
	if q.port, args, err = settlePorts(&q.arms, fixed); err != nil {
		return err
	}
	if q.shape, err = shapeOf(q.arms[0], q.arms[1]); err != nil {
		return err
	}
	q.shape.Args = args
	q.commandLine = q.line()
	return nil
}

// observable refuses names of --changes that no server of the kind says anything
// of, and proofs that every log would hold.
func (q *ab) observable() error {
	var names []string
	for _, p := range q.kind.Observe {
		names = append(names, p.Name)
	}
	for _, g := range slices.Concat(q.mustSeeA, q.mustSeeB) {
		if strings.Trim(g, "*? ") == "" {
			return fmt.Errorf("--must-see-a, --must-see-b: %q is found in every log, so it proves nothing: name text that only one of the two logs", g)
		}
	}
	for _, c := range q.changes {
		if !slices.Contains(names, c) {
			return fmt.Errorf("--changes: servers of kind %s say nothing of %q, but of %s; --kind is another kind", q.kind.Name, c, strings.Join(names, ", "))
		}
	}
	return nil
}

// both adds the variables of --env to both arms.
func (q *ab) both() error {
	for _, text := range q.env {
		m := assignment.FindStringSubmatch(text)
		if m == nil {
			return fmt.Errorf("--env: %q is no assignment: write NAME=value", text)
		}
		if redact.SecretName(m[1]) && len(text) > len(m[0]) {
			return fmt.Errorf("--env: %s looks like a secret, and would be recorded and stand in the plan. Export it before instead: the servers inherit what mxflow has", m[1])
		}
		for _, arm := range q.arms {
			if _, own := arm.Env[m[1]]; !own {
				arm.Env[m[1]] = text[len(m[0]):]
			}
		}
	}
	return nil
}

func (q *ab) numbers() error {
	for _, n := range []struct {
		flag              string
		value, least, top int
	}{
		{"pp", q.pp, 1, 20_000_000},
		{"tg", q.tg, 1, 20_000_000},
		{"depth", q.depth, 0, 20_000_000},
		{"concurrency", q.concurrency, 1, 100_000},
		{"requests", q.requests, 0, 1_000_000},
		{"warmup", q.warmup, 0, 1_000_000},
		{"launches", q.launches, 0, 1000},
	} {
		if n.value < n.least || n.value > n.top {
			return fmt.Errorf("--%s: %d is not between %d and %d", n.flag, n.value, n.least, n.top)
		}
	}
	switch {
	case !slices.Contains([]string{"completions", "chat"}, q.api):
		return fmt.Errorf("--api: %q is neither completions nor chat", q.api)
	case !slices.Contains([]string{"", "baseline", "absolute", "off"}, q.coherence):
		return fmt.Errorf("--coherence: %q is none of baseline, absolute and off", q.coherence)
	case !slices.Contains([]string{"own", "cold", "shared"}, q.caches):
		return fmt.Errorf("--caches: %q is none of own, cold and shared", q.caches)
	case q.timeout < 0 || q.maxLag < 0:
		return errors.New("time limits must be above zero")
	case q.tg < 2 && slices.Contains([]string{"tg", "tpot", "itl"}, q.metric):
		return fmt.Errorf("--metric: an answer of one token has no %s: give --tg at least 2", q.metric)
	}
	return nil
}

// counts fills in how many requests a launch takes: more where single requests
// vary more.
func (q *ab) counts() {
	q.counted = [2]bool{q.requests != 0, q.warmup != 0}
	if q.requests == 0 {
		q.requests = 10
		if slices.Contains([]string{"pp", "ttft", "pp_total"}, q.metric) {
			q.requests = 30
		}
		q.requests = max(q.requests, 4*q.concurrency)
	}
	if q.warmup == 0 {
		q.warmup = max(3, q.concurrency)
	}
}

// fixedURL is the port of --url, 0 without one.
func fixedURL(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	if err := endpoint.CheckURL(text); err != nil {
		return 0, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return 0, fmt.Errorf("--url: %w", err)
	}
	ip := net.ParseIP(u.Hostname())
	port, portErr := strconv.Atoi(u.Port())
	switch {
	case u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback() && !ip.IsUnspecified()):
		return 0, fmt.Errorf("--url: %s is another machine, and mxflow starts the commands on this one; servers that run already are compared with --a-url and --b-url", u.Hostname())
	case u.Scheme != "http" || portErr != nil:
		return 0, fmt.Errorf("--url: write where both listen, such as http://localhost:8000, not %q", text)
	}
	return port, nil
}

// isURL tells an address from a command.
func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// serverWords tell kinds of servers by what starts them, in a command or a script.
var serverWords = []struct {
	kind string
	*regexp.Regexp
}{
	{"vllm", regexp.MustCompile(`\bvllm\s+serve\b|\bvllm\.entrypoints\.`)},
	{"sglang", regexp.MustCompile(`\bsglang\.launch_server\b|\bsglang\s+serve\b`)},
	{"llamacpp", regexp.MustCompile(`\bllama-server\b`)},
	{"trtllm", regexp.MustCompile(`\btrtllm-serve\b`)},
	{"transformers", regexp.MustCompile(`\btransformers\s+serve\b`)},
	{"embedded", regexp.MustCompile(`\bmxflow\s+engine\s+serve\b`)},
}

// startedKind is the kind of server that a text starts; empty where none shows.
func startedKind(text string) string {
	for _, s := range serverWords {
		if s.MatchString(text) {
			return s.kind
		}
	}
	return ""
}

// scriptOf is the text of the script that a command runs, itself or through a
// shell, without its comments; empty where it runs none.
func scriptOf(words []string) string {
	for _, w := range words[:min(len(words), 2)] {
		if info, err := os.Stat(w); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		if text, err := os.ReadFile(w); err == nil && bytes.HasPrefix(text, []byte("#!")) {
			return scriptComment.ReplaceAllString(string(text), "")
		}
	}
	return ""
}

var (
	scriptComment = regexp.MustCompile(`(?m)^\s*#.*$`)
	// fixedPort is how a command says that it always listens on one port.
	fixedPort = regexp.MustCompile(`--port[ =](\d{2,5})\b`)
)

// settlePorts has both arms listen where mxflow asks them: at one fixed port, which
// --url or --port in a command says, or at the one that each launch is given: as
// {port} in the command, as $PORT and $MXFLOW_PORT otherwise. args are added to both.
func settlePorts(arms *[2]abArm, fixed int) (port int, args []string, err error) {
	if fixed != 0 {
		return fixed, nil, nil
	}
	var flagged []int
	for i, arm := range arms {
		line := strings.Join(arm.Words, " ")
		switch kind := startedKind(line); {
		case fixedPort.MatchString(line):
			at, err := strconv.Atoi(fixedPort.FindStringSubmatch(line)[1])
			if err != nil || port != 0 && at != port {
				return 0, nil, fmt.Errorf("the server of --a listens on port %d and that of --b on %d: let both take {port}, or the same port; only one of them runs at a time", port, at)
			}
			port = at
		case strings.Contains(line, "{port}"):
		case kind != "" && kind != "transformers":
			flagged = append(flagged, i)
		default:
			if _, set := arm.Env["PORT"]; !set {
				arm.Env["PORT"] = "{port}"
			}
		}
	}
	flag := []string{"--port", "{port}"}
	if len(flagged) == len(arms) {
		return port, flag, nil
	}
	for _, i := range flagged {
		arms[i].Words = append(arms[i].Words, flag...)
	}
	return port, nil, nil
}

// kindOf is the kind of both servers: the one that is asked for, or what their
// commands and scripts show; openai, of which nothing is expected but the API,
// where they show none or two.
func kindOf(asked string, arms [2]abArm) (kinds.Kind, error) {
	if asked != "" {
		k, ok := kinds.Lookup(asked)
		if !ok || k.Name == "command" {
			return k, fmt.Errorf("--kind: there is no kind of server %q: see mxflow engine kinds", asked)
		}
		return k, nil
	}
	found := ""
	for i, arm := range arms {
		kind := startedKind(strings.Join(arm.Words, " ") + "\n" + scriptOf(arm.Words))
		if i > 0 && kind != found {
			kind = ""
		}
		found = kind
	}
	if found == "" {
		found = "openai"
	}
	k, _ := kinds.Lookup(found)
	return k, nil
}

// Two servers that run already: mxflow did not start them, so there is one start
// of each, and no number of looks at it says what another would do. They are
// shown side by side, and never decided.

func (q *ab) checkURLs() error {
	switch {
	case q.a != "" || q.b != "" || q.url != "":
		return errors.New("--a-url and --b-url are servers that run already, --a and --b commands that start them: give either two of the ones or two of the others")
	case q.aURL == "" || q.bURL == "":
		return errors.New("give both: --a-url http://localhost:8000 --b-url http://localhost:8001")
	case q.aURL == q.bURL:
		return errors.New("--a-url and --b-url are the same server, so there is nothing to compare")
	case q.claimed != "" || q.quick || q.proves() || len(q.changes) > 0:
		return errors.New("nothing can be decided about servers that run already: leave out --claim, --quick, --changes and --must-see, or have mxflow start them with --a and --b")
	}
	for _, u := range []string{q.aURL, q.bURL} {
		if err := endpoint.CheckURL(u); err != nil {
			return err
		}
	}
	name := q.asked
	if name == "" {
		name = "openai"
	}
	kind, ok := kinds.Lookup(name)
	if !ok || kind.Name == "command" {
		return fmt.Errorf("--kind: there is no kind of server %q: see mxflow engine kinds", q.asked)
	}
	q.kind = kind
	q.arms = [2]abArm{{Flag: "a-url", Text: q.aURL}, {Flag: "b-url", Text: q.bURL}}
	return nil
}

// urlPlan is the plan that looks at both in turn.
func (q *ab) urlPlan() []byte {
	w := &planWriter{}
	w.line("# Two servers that run already, side by side. Nothing about them can be decided:\n# there is one start of each.\n\nplan \"ab\" {}\n")
	for i, u := range []string{q.aURL, q.bURL} {
		w.line("engine %s %q {", hclText(q.kind.Name), []string{"A", "B"}[i])
		w.text("model", q.model)
		w.line("\nendpoint {\nurl = %s\n}\n}\n", hclText(u))
	}
	q.planWorkload(w)
	w.line("protocol \"ab\" {\nlevel \"smoke\" {\npattern = \"[[:alpha:]]{2}\"")
	if q.api != "completions" {
		w.text("api", q.api)
	}
	kind := q.kind.Name
	w.line("}\n}\n\nphase \"ab\" {\nstep \"compare\" \"servers\" {")
	w.line("engines = [engine.%s.A, engine.%s.B]\nreference = engine.%s.A\nworkloads = [workload.bench]\nprotocol = protocol.ab", kind, kind, kind)
	w.number("launches", max(2, q.launches))
	w.line("}\n}")
	return hclwrite.Format([]byte(w.b.String()))
}

func (a *app) runningAB(ctx context.Context, q *ab) error {
	at, err := q.place(a.state)
	if err != nil {
		return err
	}
	text := q.urlPlan()
	if q.dryRun {
		_, err := a.stdout.Write(text)
		return err
	}
	if err := at.save(text); err != nil {
		return err
	}
	if q.writePlan != "" {
		if err := writePlanFile(q.writePlan, text); err != nil {
			return err
		}
	}
	if a.json {
		return a.applyAB(ctx, at, a.progress(), true)
	}
	fmt.Fprintf(a.stdout, "A  %s\nB  %s\nServers that run already: they are shown side by side, and nothing is decided.\n\n", q.aURL, q.bURL)
	return a.applyAB(ctx, at, &abRunning{Observer: a.progress(), app: a, at: at}, true)
}

// abRunning shows two servers that run already.
type abRunning struct {
	apply.Observer
	app *app
	at  abPlace
}

func (r *abRunning) Event(ev runtime.Event) { r.Observer.Event(rewordAB(ev)) }

func (r *abRunning) End(res *apply.Result) {
	r.Observer.End(res)
	r.app.endRunning(res.Summary, res.End, r.at, res.Took)
}

func (a *app) endRunning(s runtime.Summary, end *ledger.End, at abPlace, took time.Duration) {
	switch {
	case end.Reason.Code == code.Interrupted:
		fmt.Fprintln(a.stdout, "\nOPEN  Interrupted.")
	case end.Verdict == verdict.Inconclusive:
		fmt.Fprintln(a.stdout, "\nINCONCLUSIVE  There is one start of each server, and two starts of the same server differ too.")
	case end.Verdict == verdict.Error:
		fmt.Fprintln(a.stdout, "\nERROR  A server did not answer as it should, so there is nothing to compare.")
	default:
		fmt.Fprintln(a.stdout, "\nINVALID  The numbers do not count.")
	}
	a.comparisons(s)
	a.lastWords(s)
	if end.Verdict == verdict.Inconclusive {
		fmt.Fprintln(a.stdout, `
next
  Have mxflow start both, each several times in turn: --a 'command' --b 'command'.
  Where it cannot, give a plan an endpoint with restart = ["command that restarts it"].`)
	}
	a.section("kept", [][2]string{{"record", at.state}, {"the plan", at.plan}})
	fmt.Fprintf(a.stdout, "\n%s, exit status %d\n", rough(took.Seconds()), end.Exit)
}

// abFolder is where comparisons are kept, below the folder that one is in.
const abFolder = ".mxflow-ab"

// abPlace is where a comparison is kept.
type abPlace struct {
	// folder holds the plan and the state; work is where servers are started.
	folder, plan, state, work string
}

// place is the folder of a comparison: the same for the same commands and work,
// whatever is claimed and however many launches are asked for.
func (q *ab) place(state string) (p abPlace, err error) {
	if p.work, err = os.Getwd(); err != nil {
		return p, err
	}
	// Only strings and numbers, which JSON takes.
	what, _ := json.Marshal([]any{q.arms[0].Text, q.arms[1].Text, q.env, q.url, q.asked, q.model, q.api, q.pp, q.tg, q.depth, q.concurrency, q.requests, q.warmup, q.caches})
	sum := sha256.Sum256(what)
	p.folder = filepath.Join(abFolder, hex.EncodeToString(sum[:4]))
	p.state = filepath.Join(p.folder, stateName)
	if state != "" {
		p.folder, p.state = state, state
	}
	p.plan = filepath.Join(p.folder, "ab.hcl")
	return p, nil
}

// planIn is the plan for a file in a folder, which may not exist yet.
func (q *ab) planIn(folder, work string) ([]byte, error) {
	whole, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	return q.plan(whole, work)
}

func (a *app) dryAB(q *ab, at abPlace) error {
	text, err := q.planIn(".", at.work)
	if err == nil && q.writePlan != "" {
		return q.writeFor(at)
	}
	if err == nil {
		_, err = a.stdout.Write(text)
	}
	return err
}

// writePlans writes the plan that is applied, and the one that was asked for.
func (q *ab) writePlans(at abPlace) error {
	text, err := q.planIn(at.folder, at.work)
	if err != nil {
		return err
	}
	if err := at.save(text); err != nil || q.writePlan == "" {
		return err
	}
	return q.writeFor(at)
}

// save writes the plan that is applied. The folder is no part of the source tree
// that it lies in.
func (at abPlace) save(text []byte) error {
	err := os.MkdirAll(at.folder, 0o755)
	if top := filepath.Dir(at.folder); err == nil && filepath.Base(top) == abFolder {
		err = os.WriteFile(filepath.Join(top, ".gitignore"), []byte("*\n"), 0o644)
	}
	if err == nil {
		err = os.WriteFile(at.plan, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("the record cannot be kept: %w", err)
	}
	return nil
}

// writeFor writes the plan to the file of --write-plan.
func (q *ab) writeFor(at abPlace) error {
	text, err := q.planIn(filepath.Dir(q.writePlan), at.work)
	if err != nil {
		return err
	}
	return writePlanFile(q.writePlan, text)
}

// writePlanFile writes a file for --write-plan; one that is there already and differs
// is left alone.
func writePlanFile(path string, text []byte) error {
	if filepath.Ext(path) != ".hcl" {
		return fmt.Errorf("--write-plan: plans are written as .hcl, and %s is none (mxflow convert makes YAML of it)", path)
	}
	old, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(old, text):
		return nil
	case err == nil:
		return fmt.Errorf("--write-plan: %s is there already and holds something else: name another file, or remove it", path)
	case errors.Is(err, fs.ErrNotExist):
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("--write-plan: %w", err)
	}
	return nil
}

// line is the command line again, as a person would write it, without what says
// only how it is shown or how far it goes.
func (q *ab) line() string {
	words := []string{"mxflow", "ab", "--a", shellQuote(q.a), "--b", shellQuote(q.b)}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, "--"+flag, shellQuote(value))
		}
	}
	for _, e := range q.env {
		add("env", e)
	}
	add("url", q.url)
	add("kind", q.asked)
	add("model", q.model)
	if q.api != "completions" {
		add("api", q.api)
	}
	add("pp", fmt.Sprint(q.pp))
	add("tg", fmt.Sprint(q.tg))
	if q.depth > 0 {
		add("depth", fmt.Sprint(q.depth))
	}
	if q.concurrency > 1 {
		add("concurrency", fmt.Sprint(q.concurrency))
	}
	if q.counted[0] {
		add("requests", fmt.Sprint(q.requests))
	}
	if q.counted[1] {
		add("warmup", fmt.Sprint(q.warmup))
	}
	if q.caches != "own" {
		add("caches", q.caches)
	}
	if q.metric != "tg" {
		add("metric", q.metric)
	}
	if q.claimed != "" {
		words = append(words, "--claim="+shellQuote(q.claimed))
	}
	for _, g := range q.mustSeeA {
		add("must-see-a", g)
	}
	for _, g := range q.mustSeeB {
		add("must-see-b", g)
	}
	add("changes", strings.Join(q.changes, ","))
	add("accept", strings.Join(q.accept, ","))
	add("coherence", q.coherence)
	add("expect", q.expect)
	if q.timeout > 0 {
		add("timeout", q.timeout.String())
	}
	if q.maxLag > 0 {
		add("max-lag", q.maxLag.String())
	}
	return strings.Join(words, " ")
}
