package tree

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// todos writes UPSTREAM_TODOS.md if the plan follows notes on third-party code.
func (t *writer) todos() {
	var rows [][]string
	for _, ph := range t.Plan.Phases {
		for _, s := range ph.Steps {
			if s.Kind != "upstream_todo" {
				continue
			}
			text := func(name string) string { return fmt.Sprint(s.Attrs[name]) }
			today, when := "not checked yet", "–"
			if h := t.Store.History("phase." + ph.Name + ".step." + s.Kind + "." + s.Name); len(h) > 0 {
				last := h[len(h)-1]
				today, when = strings.Join(append([]string{string(last.Verdict)}, verdict.Lines(last.Why())...), "\n"),
					date(last.Time)
			}
			improvement := "–"
			if said := strings.TrimSpace(s.Notes["improvement"]); said != "" {
				improvement = said
			}
			rows = append(rows, []string{
				s.Name, today, text("repo") + " at " + text("commit"), "`" + text("file") + "`",
				"`" + text("snippet") + "`", improvement, when,
			})
		}
	}
	if len(rows) == 0 {
		return
	}
	t.Line("# Upstream TODOs of plan %s\n", t.Plan.Name)
	t.table([]string{"TODO", "Today", "Noted", "File", "Snippet", "Improvement", "Checked"}, rows)
	t.Line("A note passes while its snippet exists, even if moved, and fails if it was changed or removed: then " +
		"check if it is done.\n")
	t.keep("notes")
}

// logs writes a file per session with what was sent and the results.
func (t *writer) logs() {
	of := map[string][]*report.Arm{}
	for _, a := range t.arms {
		of[a.Session] = append(of[a.Session], a)
	}
	for _, session := range slices.Sorted(maps.Keys(of)) {
		l := log{
			Session: session, Plan: t.Plan.Name,
			Date: of[session][0].Launches[0].Started.UTC().Format("2006-01-02 15:04:05 MST"),
		}
		for _, a := range of[session] {
			l.Arms = append(l.Arms, t.arm(a))
		}
		text, err := yaml.Marshal(l)
		if err != nil && t.err == nil {
			t.err = fmt.Errorf("session %s: %w", session, err)
		}
		t.files = append(t.files, File{Path: logOf(session), Text: string(text)})
	}
}

type (
	log struct {
		Session string
		Plan    string
		Date    string
		Arms    []arm
	}
	arm struct {
		Configuration string
		// Counts is why the numbers do not count.
		Counts      string `yaml:"does_not_count,omitempty"`
		Engine      string
		Knobs       map[string]string `yaml:",omitempty"`
		Started     map[string]string `yaml:"started_with,omitempty"`
		Environment map[string]string `yaml:",omitempty"`
		Observed    map[string]string `yaml:",omitempty"`
		Workload    map[string]workload
		Profile     string `yaml:",omitempty"`
		Launches    []string
		Results     map[string]result
	}
	// workload is what was sent in a cell, and how.
	workload struct {
		Sent        string
		Requests    int      `yaml:",omitempty"`
		Warmup      *int     `yaml:"warmup_requests,omitempty"`
		API         string   `yaml:",omitempty"`
		Concurrency int      `yaml:",omitempty"`
		Temperature *number  `yaml:",omitempty"`
		TopP        any      `yaml:"top_p,omitempty"`
		TopK        any      `yaml:"top_k,omitempty"`
		MinP        any      `yaml:"min_p,omitempty"`
		Repetition  any      `yaml:"repetition_penalty,omitempty"`
		Seed        *int     `yaml:",omitempty"`
		Tokenizer   string   `yaml:",omitempty"`
		SLO         []string `yaml:"slo_ms,omitempty"`
	}
	// result has one of two means: Geomean of speeds, times and sizes, which rules average in
	// logs, or else Mean. Std is the standard deviation over launches, with a geometric mean that of
	// logs times the mean, and CV its share of the mean.
	result struct {
		Unit      string `yaml:",omitempty"`
		Stat      string
		Geomean   *number `yaml:"geomean,omitempty"`
		Mean      *number `yaml:",omitempty"`
		Std       number
		CV        *number  `yaml:",omitempty"`
		N         int      `yaml:"launches"`
		PerLaunch []number `yaml:"per_launch,flow"`
	}
)

// observed are what an arm's launches saw of themselves, for YAML: a single word has no
// quotes of its own there.
func observed(a *report.Arm) map[string]string {
	seen := map[string]string{}
	for _, l := range a.Launches {
		for name := range l.Observed {
			seen[name] = ledger.ObservedValues(a.Launches, name)
			if text, err := strconv.Unquote(seen[name]); err == nil {
				seen[name] = text
			}
		}
	}
	return seen
}

func (t *writer) arm(a *report.Arm) arm {
	first := a.Launches[0]
	started := maps.Clone(first.Engine)
	delete(started, "resolved_command") // each launch has its own port, and the machine its paths
	out := arm{
		Configuration: a.Variant, Engine: a.Block, Knobs: first.Knobs, Started: started, Environment: first.Fingerprint,
		Observed: observed(a), Workload: map[string]workload{}, Results: map[string]result{},
		Profile: t.profiles[a.Variant], Counts: a.Uncounted,
	}
	for _, c := range first.Cells {
		w := workload{Requests: c.Requests, Concurrency: c.Concurrency, Tokenizer: t.tokenizer(a)}
		w.Sent = report.Sent(a.Launches, c.Of())
		if s := c.Sampling; c.Requests > 0 { // else it was recorded before these were
			w.Warmup, w.API, w.Temperature, w.Seed = &c.Warmup, s.API, exactly(s.Temperature), &s.Seed
			w.TopP, w.TopK, w.MinP, w.Repetition = sent(s.TopP), sent(float64(s.TopK)), sent(s.MinP),
				sent(s.RepetitionPenalty)
		}
		for _, metric := range slices.Sorted(maps.Keys(c.SLO)) {
			w.SLO = append(w.SLO, fmt.Sprintf("%s: %g", metric, c.SLO[metric]))
		}
		out.Workload[c.Of()] = w
	}
	for _, l := range a.Launches {
		out.Launches = append(out.Launches, l.ID)
	}
	for address, s := range first.Metrics {
		_, hasMedian := s.Stats["median"]
		for _, stat := range []string{"median", "mean", "p95", "p99"} {
			v, ok := a.Of(address, stat)
			if !ok || stat == "mean" && hasMedian {
				continue
			}
			key := address
			if stat != "median" && stat != "mean" {
				key += "." + stat
			}
			r := result{Unit: v.Unit, Stat: stat, Std: number(v.SD), N: v.N()}
			if r.Mean = exactly(v.Mean); v.Geometric {
				r.Mean, r.Geomean = nil, r.Mean
			}
			if v.Mean > 0 && v.N() > 1 {
				r.CV = exactly(v.SD / v.Mean)
			}
			for _, x := range v.Values {
				r.PerLaunch = append(r.PerLaunch, number(x))
			}
			out.Results[key] = r
		}
	}
	return out
}

// sent is a parameter of sampling: what was not sent is the engine's own.
func sent(x float64) any {
	if x == 0 {
		return "not sent"
	}
	return number(x)
}

func exactly(x float64) *number { n := number(x); return &n }

// tokenizer is what tokens were counted with: the one on record, or else that of the model.
func (t *writer) tokenizer(a *report.Arm) string {
	if known := report.Entries(a.Launches, "tokenizer"); known != "" {
		return known
	}
	if e := t.Plan.Engine(a.Block); e != nil && e.Model != "" {
		return "of " + e.Model
	}
	return "the engine's own"
}

// number is formatted without exponent, with six significant digits: people read these
// files, too.
type number float64

// MarshalYAML avoids exponents.
func (n number) MarshalYAML() (any, error) {
	x, err := strconv.ParseFloat(strconv.FormatFloat(float64(n), 'g', 6, 64), 64)
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: strconv.FormatFloat(x, 'f', -1, 64)}
	if !strings.Contains(node.Value, ".") {
		node.Tag = "!!int"
	}
	return node, nil
}
