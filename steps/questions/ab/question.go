// Package ab compares two commands that start a server, without a user's plan: it makes
// the plan from the question, keeps it in its own folder, and reads from the record of an
// apply how B did against A. It prints nothing and decides nothing: the plan's rule does,
// like any other.
package ab

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/questions/arms"
)

// Question is what the user asks about two commands.
type Question struct {
	A, B string
	// Images, Refs and Pins name two versions each, and Source what Refs and Pins are of.
	// Server are arguments for both images.
	Images, Refs, Pins, Server []string
	// GPUs are what containers get: all, amd, a number or device=0,1; unless they are Named,
	// images for AMD GPUs get amd. Volumes are the folder of the model here, and there.
	GPUs    string
	Named   bool
	Volumes [2]string
	Source  string
	// URL is where both listen, Asked the name of their kind.
	URL, Model, Asked, API     string
	PP, TG, Depth, Concurrency int
	Requests, Warmup           int
	Metric, Claimed            string
	Launches                   int
	Quick                      bool
	MustSeeA, MustSeeB         []string
	Changes, Accept            []string
	Answers, Caches, Eval      string
	Timeout, MaxLag            time.Duration
	// SLO is what the capacity keeps, and Probe how long each rate is sent; 0 is the usual time.
	SLO   string
	Probe time.Duration
	slo   plans.SLO // SLO
	// Questions is the content of the file Eval.
	Questions []byte
	// CommandLine is what the plan names as its source.
	CommandLine string
	// Again is the command line that asks it again, with more flags.
	Again func(more ...string) string

	// Of is set if the plan of a user is asked, and Asks what in place of its phases. Cell is
	// the cell of the metric.
	Of   *plans.Plan
	Asks string
	Cell string
	// Noise is what its launches resolve by the noise on record; no fact without a record.
	Noise verdict.Reason

	Claim Claim
	Arms  [2]Arm
	Shape Shape
	Kind  kinds.Kind
	Port  int
	// Doubt is that nothing in a command takes the port; no fact if something does.
	Doubt verdict.Reason
}

// address matches the address of a server, where a command is asked for.
var address = regexp.MustCompile(`^https?://`)

// UsualLaunches is the default maximum of launches per command.
const UsualLaunches = 8

// Launches per command that can decide anything: see docs/statistics.md.
const fewestLaunches, mostLaunches = 4, stats.MostLaunches

func (q *Question) Most() int {
	switch {
	case q.Quick:
		return 1
	case q.Launches > 0:
		return q.Launches
	case q.Of != nil:
		_, most := q.Of.LaunchesUnder(q.Of.Baseline.Protocol)
		return most
	}
	return UsualLaunches
}

// launches refuses a number of launches that decides nothing.
func (q *Question) launches() error {
	switch {
	case q.Launches != 0 && (q.Launches < fewestLaunches || q.Launches > mostLaunches):
		return fmt.Errorf("--launches: %d is not between %d, the first look, and %d, the calibrated maximum; --quick "+
			"makes one of each", q.Launches, fewestLaunches, mostLaunches)
	case q.Quick && q.Launches != 0:
		return errors.New("--quick makes one launch of each: remove --launches")
	}
	return nil
}

// Check turns flags into arms and a question, and rejects what no plan says. The rest is for
// the plan to check: see CheckPlan.
func (q *Question) Check() (err error) {
	switch share, wrong := strconv.ParseFloat(q.Answers, 64); {
	case !slices.Contains([]string{"", "checked", "unchecked"}, q.Answers) &&
		(wrong != nil || !(share > 0 && share <= 1)):
		return fmt.Errorf("--answers: %q is not checked, unchecked or a share of at most 1 such as 0.9", q.Answers)
	case !slices.Contains([]string{"own", "pinned", "cold"}, q.Caches):
		return fmt.Errorf("--caches: %q is not own, pinned or cold", q.Caches)
	case q.Metric == "capacity" && q.SLO == "":
		return errors.New("--metric capacity: it is the largest rate that keeps limits: give some, as in --slo " +
			"'p99 ttft <= 500ms, p99 tpot <= 30ms'")
	case q.Metric != "capacity" && (q.SLO != "" || q.Probe != 0):
		return errors.New("--slo and --probe are for --metric capacity: add that, or leave them out")
	case q.SLO != "" && (q.Concurrency != 1 || q.Requests+q.Warmup != 0):
		return errors.New("--metric capacity: it sends the rates that it needs: leave out --concurrency, --requests " +
			"and --warmup")
	case q.TG < 2 && slices.Contains([]string{"tg", "tpot", "itl"}, q.Metric):
		return fmt.Errorf("--metric: an answer of one token has no %s: set --tg to at least 2", q.Metric)
	}
	if q.SLO != "" {
		if q.slo, err = plans.ParseSLO(q.SLO); err != nil {
			return fmt.Errorf("--slo: %w", err)
		}
	}
	if q.Claim, err = ParseClaim(q.Metric, q.Claimed); err != nil {
		return err
	}
	// A launch makes more requests if single ones vary more.
	if q.Requests == 0 {
		q.Requests = 10
		if slices.Contains([]string{"pp", "ttft", "pp_total"}, q.Metric) {
			q.Requests = 30
		}
		q.Requests = max(q.Requests, 4*q.Concurrency)
	}
	if q.Warmup == 0 {
		q.Warmup = max(3, q.Concurrency)
	}
	if q.Eval != "" {
		if q.Questions, err = os.ReadFile(q.Eval); err != nil {
			return fmt.Errorf("--eval: %w", err)
		}
	}
	switch {
	case address.MatchString(q.A) || address.MatchString(q.B):
		return errors.New("--a and --b are commands that start a server, but this is the address of one: one start " +
			"of each server decides nothing, and mxflow bench URL shows it")
	case len(q.Images) == 0 && q.GPUs != "":
		return errors.New("--gpus is what containers get: it takes two --image")
	case len(q.Images) > 0 && q.A+q.B+q.URL != "":
		return errors.New("--image starts containers: remove --a, --b and --url")
	case len(q.Refs)+len(q.Pins) > 0:
		return errors.New("--ref and --pins are of the engine of a plan: name the plan, as in mxflow ab plan.hcl " +
			"--ref main --ref my-branch")
	case len(q.Images) == 0 && (q.A == "" || q.B == ""):
		return errors.New("give both commands: --a 'KERNEL=marlin ./serve.sh' --b 'KERNEL=gemm ./serve.sh'")
	}
	if err := q.launches(); err != nil {
		return err
	}
	q.Cell = "bench"
	if len(q.Images) > 0 {
		return q.containers()
	}
	for i, side := range []struct{ flag, text string }{{"a", q.A}, {"b", q.B}} {
		if q.Arms[i], err = ParseArm(side.flag, side.text); err != nil {
			return err
		}
	}
	if _, err := ShapeOf(q.Arms[0], q.Arms[1]); err != nil {
		return err
	}
	fixed, err := fixedURL(q.URL)
	if err != nil {
		return err
	}
	if q.Kind, err = kindOf(q.Asked, q.Arms); err != nil {
		return err
	}
	var args []string
	if q.Port, args, q.Doubt, err = settlePorts(&q.Arms, fixed); err != nil {
		return err
	}
	if q.Shape, err = ShapeOf(q.Arms[0], q.Arms[1]); err != nil {
		return err
	}
	q.Shape.Args = args
	return nil
}

// containers makes arms of two images.
func (q *Question) containers() (err error) {
	if q.Images, err = arms.Images(q.Images); err != nil {
		return err
	}
	var shown []kinds.Kind
	for i, image := range q.Images {
		q.Arms[i] = Arm{Text: image}
		if kinds.IsROCm(image) && !q.Named {
			if other := q.Images[1-i]; !kinds.IsROCm(other) {
				return fmt.Errorf("--image: %s is for AMD GPUs, which %s does not say of itself: "+
					"add what both get, such as --gpus amd", image, other)
			}
			q.GPUs = "amd"
		}
		if k, ok := kinds.OfImage(image); ok {
			shown = append(shown, k)
		}
	}
	switch {
	case q.Asked != "":
		if q.Kind, err = kindOf(q.Asked, q.Arms); err != nil {
			return err
		}
	case len(shown) == 0:
		return fmt.Errorf("--image: %s does not show its kind of engine: add --kind", q.Images[0])
	case shown[0].Name != shown[len(shown)-1].Name:
		return fmt.Errorf("--image: A is of kind %s and B of kind %s: two engines are compared by a plan with a step "+
			"\"compare\"", shown[0].Name, shown[1].Name)
	default:
		q.Kind = shown[0]
	}
	if kinds.NeedsModel(q.Kind.ImageCommand) {
		if q.Model == "" {
			return fmt.Errorf("--model: images of kind %s are started with a model: give its name or path", q.Kind.Name)
		}
		// A model that lies here is mounted where it is, another from the cache.
		q.Volumes = [2]string{cmp.Or(os.Getenv("HF_HOME"), "~/.cache/huggingface"), "/root/.cache/huggingface"}
		if info, err := os.Stat(plans.Home(q.Model)); err == nil {
			if q.Model, err = filepath.Abs(plans.Home(q.Model)); err != nil {
				return err
			}
			folder := q.Model
			if !info.IsDir() {
				folder = filepath.Dir(folder)
			}
			q.Volumes = [2]string{folder, folder + ":ro"}
		}
	}
	q.Shape.Args = q.Server
	for _, p := range q.Kind.Observe { // all that an image is, is under test
		if !p.Consequence && !slices.Contains(q.Changes, p.Name) {
			q.Changes = append(q.Changes, p.Name)
		}
	}
	return nil
}

// Label is the cell in field notation: "pp2048 tg32 @ d4096 c4".
func (q *Question) Label() string {
	name := q.Claim.Metric.Name
	if q.Of != nil {
		return q.Cell + "." + name
	}
	switch name {
	case "tg", "tg_total":
		name = strings.Replace(name, "tg", "tg"+strconv.Itoa(q.TG), 1)
	case "pp", "pp_total":
		name = strings.Replace(name, "pp", "pp"+strconv.Itoa(q.PP), 1)
	}
	if q.Depth > 0 {
		name += fmt.Sprintf(" @ d%d", q.Depth)
	}
	if q.Concurrency > 1 {
		name += fmt.Sprintf(" c%d", q.Concurrency)
	}
	return name
}

// Proves reports whether logs must contain any evidence.
func (q *Question) Proves() bool { return len(q.MustSeeA)+len(q.MustSeeB) > 0 }

// fixedURL is the port of --url, 0 without one.
func fixedURL(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	if err := run.CheckURL(text); err != nil {
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
		return 0,
			fmt.Errorf("--url: %s is another machine, but mxflow starts the commands on this one; mxflow bench "+
				"measures a running server", u.Hostname())
	case u.Scheme != "http" || portErr != nil:
		return 0, fmt.Errorf("--url: write where both listen, such as http://localhost:8000, not %q", text)
	}
	return port, nil
}

// serverWords identify kinds of servers by what starts them, in a command or a script.
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

// startedKind is the kind of server that a text starts; empty if it shows none.
func startedKind(text string) string {
	for _, s := range serverWords {
		if s.MatchString(text) {
			return s.kind
		}
	}
	return ""
}

var scriptComment = regexp.MustCompile(`(?m)^\s*#.*$`)

// settlePorts makes both arms listen where mxflow connects: at one fixed port, given by
// --url or --port in a command, or at a port per launch: as {port} in the command, as
// $PORT and $MXFLOW_PORT otherwise. args are added to both, and doubt says which of them
// show none of these.
func settlePorts(arms *[2]Arm, fixed int) (port int, args []string, doubt verdict.Reason, err error) {
	if fixed != 0 {
		return fixed, nil, doubt, nil
	}
	var blind []string
	var flagged []int
	for i, arm := range arms {
		line := strings.Join(arm.Words, " ")
		switch kind, at := startedKind(line), (source.Command{Words: arm.Words}).FixedPort(); {
		case at != 0:
			if port != 0 && at != port {
				return 0, nil, doubt,
					fmt.Errorf("the server of --a listens on port %d and that of --b on %d: have both use {port}, or "+
						"the same port; only one of them runs at a time", port, at)
			}
			port = at
		case strings.Contains(line, "{port}"):
		case kind != "" && kind != "transformers":
			flagged = append(flagged, i)
		default:
			if _, set := arm.Env["PORT"]; !set {
				arm.Env["PORT"] = "{port}"
				if !(source.Command{Words: arm.Words, Dir: "."}).TakesPort("PORT", source.PortVariable) {
					blind = append(blind, string('A'+rune(i)))
				}
			}
		}
	}
	if len(blind) > 0 && port == 0 {
		doubt = verdict.Say("ab.port_not_taken",
			"{arms}: neither {placeholder} nor $PORT is in the command or in a script that it runs; add it, or "+
				"--url for a server that always listens on the same port", verdict.List("arms", blind),
			verdict.Text("placeholder", "{port}"))
	}
	flag := []string{"--port", "{port}"}
	if len(flagged) == len(arms) {
		return port, flag, doubt, nil
	}
	for _, i := range flagged {
		arms[i].Words = append(arms[i].Words, flag...)
	}
	return port, nil, doubt, nil
}

// kindOf is the kind of both servers: the requested one, or the one that their commands
// and scripts show; openai, which only needs the API, if they show none or two.
func kindOf(asked string, arms [2]Arm) (kinds.Kind, error) {
	if asked != "" {
		k, ok := kinds.Lookup(asked)
		if !ok || k.Name == "command" {
			return k, fmt.Errorf("--kind: unknown kind %q: see mxflow engine kinds", asked)
		}
		return k, nil
	}
	found := ""
	for i, arm := range arms {
		text := strings.Join(arm.Words, " ")
		// The script that it runs, directly or through a shell, without its comments.
		for _, w := range arm.Words[:min(len(arm.Words), 2)] {
			if info, err := os.Stat(w); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
				continue
			}
			if script, err := os.ReadFile(w); err == nil && bytes.HasPrefix(script, []byte("#!")) {
				text += "\n" + scriptComment.ReplaceAllString(string(script), "")
				break
			}
		}
		kind := startedKind(text)
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
