package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/explain"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/load"
	planseal "github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
)

// mostAnswered limits a list in an answer; More is how much it leaves out.
const mostAnswered = 20

func few[T any](list []T) (some []T, more int) { return first(list, mostAnswered) }

func first[T any](list []T, most int) (some []T, more int) {
	n := min(len(list), most)
	return append([]T{}, list[:n]...), len(list) - n
}

type nothing struct{}

type ValidAnswer struct {
	Valid       bool       `json:"valid"`
	Digest      string     `json:"digest,omitempty"`
	Features    int        `json:"features"`
	Rules       int        `json:"rules"`
	Diagnostics any        `json:"diagnostics"`
	More        int        `json:"more,omitempty"`
	Next        []nextCall `json:"next,omitempty"`
}

func (s *server) validate(context.Context, nothing) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	res, _, err := s.load()
	some, more := few(res.DiagnosticsJSON())
	out := ValidAnswer{Valid: err == nil, Diagnostics: some, More: more}
	if err == nil {
		out.Digest, out.Features, out.Rules = res.Plan.Digest(), len(res.Plan.Features()), len(res.Plan.Rules())
		out.Next = []nextCall{{Tool: "plan", Code: "valid"}}
	}
	return out, nil
}

type planAsk struct {
	Node string `json:"node,omitempty" jsonschema:"a feature, phase or node; all that are not kept if empty"`
}

type PlanAnswer struct {
	Nodes []any `json:"nodes"`
	// Kept is how many nodes keep their recorded outcome; More how many are left out of
	// Nodes.
	Kept          int     `json:"kept"`
	More          int     `json:"more,omitempty"`
	Launches      int     `json:"launches"`
	LeastLaunches int     `json:"least_launches"`
	Seconds       float64 `json:"seconds"`
	LeastSeconds  float64 `json:"least_seconds"`
	// Known is false while there is no launch to estimate the seconds from.
	Known bool       `json:"estimate_from_recorded_launches"`
	Next  []nextCall `json:"next,omitempty"`
}

func (s *server) plan(ctx context.Context, ask planAsk) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	loaded, g, err := s.load()
	if err != nil {
		return nil, err
	}
	var named []string
	if ask.Node != "" {
		named = []string{ask.Node}
	}
	_, targets, err := apply.Named(g, nil, named)
	if err != nil {
		return nil, err
	}
	st, err := s.recorded()
	if err != nil {
		return nil, err
	}
	var journal runtime.Journal = runtime.EmptyJournal{}
	if st != nil {
		defer st.Close()
		journal = st.Journal()
		if err := apply.SamePlan(st, loaded.Plan); err != nil {
			return nil, err
		}
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: loaded.Plan, Graph: g, Store: st})
	if err != nil {
		return nil, err
	}
	preview, err := (&runtime.Runner{Plan: loaded.Plan, Graph: g, Journal: journal, Step: lab.Step, Target: targets, Hard: ctx}).Preview()
	if err != nil {
		return nil, err
	}
	e := apply.EstimateOf(loaded.Plan, apply.KnownTo(st), preview)
	out := PlanAnswer{Launches: e.Launches, LeastLaunches: e.Least, Seconds: e.High, LeastSeconds: e.Low, Known: e.High > 0 || e.Launches == 0}
	var rest []any
	for _, n := range preview {
		switch {
		case targets != nil && !targets(n.Node):
		case n.Action == runtime.Reuse && n.Locked.IsZero() && ask.Node == "":
			out.Kept++
		default:
			rest = append(rest, s.Planned(loaded.Plan, n))
		}
	}
	out.Nodes, out.More = few(rest)
	if e.Launches > 0 {
		out.Next = []nextCall{{Tool: "apply", Of: ask.Node, Code: "undecided"}}
	}
	return out, nil
}

type StatusAnswer struct {
	Run report.Work `json:"newest_run"`
	// Stack are the accepted features.
	Stack    []string         `json:"stack"`
	Verdicts map[string]int   `json:"verdicts"`
	Open     []statusNode     `json:"open"`
	More     int              `json:"more,omitempty"`
	Seal     *sealAnswer      `json:"seal,omitempty"`
	NoSeal   string           `json:"no_seal,omitempty"`
	Moved    []planseal.Moved `json:"moved,omitempty"`
	Next     []nextCall       `json:"next,omitempty"`
}

// statusNode is a node and its state, briefly: explain has the causes and numbers.
type statusNode struct {
	Node    string  `json:"node"`
	Verdict string  `json:"verdict,omitempty"`
	Reasons []brief `json:"reasons,omitempty"`
	Locked  *brief  `json:"locked,omitempty"`
}

// brief is a reason with its causes and numbers only in its text.
type brief struct {
	Text    string          `json:"text"`
	Code    code.Code       `json:"code"`
	Subject string          `json:"subject,omitempty"`
	Verdict verdict.Verdict `json:"verdict,omitempty"`
}

func briefly(r verdict.Reason) brief { return brief{tell.Line(r), r.Code, r.Subject, r.Verdict} }

func briefs(reasons []verdict.Reason) (out []brief) {
	for _, r := range reasons {
		out = append(out, briefly(r))
	}
	return out
}

// sealAnswer is what a proposer may do, and how much of it is used.
type sealAnswer struct {
	Limits   planseal.Limits `json:"limits"`
	Spent    report.Spending `json:"spent"`
	Proposed []string        `json:"proposed"`
	// Chance bounds the chance that any proposal without a gain passes.
	Chance float64 `json:"chance_of_a_false_pass"`
}

func (s *server) status(context.Context, nothing) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	loaded, _, err := s.load()
	if err != nil {
		return nil, err
	}
	st, err := s.recorded()
	if err != nil {
		return nil, err
	}
	out := StatusAnswer{Stack: []string{}, Verdicts: map[string]int{}, Open: []statusNode{}}
	is, err := s.Seal()
	if err != nil {
		out.NoSeal = err.Error()
	} else {
		out.Seal = &sealAnswer{Limits: is.Limits, Proposed: []string{}, Chance: s.Chance(is)}
		for _, f := range is.Proposed(loaded.Plan) {
			out.Seal.Proposed = append(out.Seal.Proposed, f.Name)
		}
		if out.Moved, err = is.Moved(loaded.Plan); err != nil {
			return nil, err
		}
	}
	if st == nil {
		out.Next = []nextCall{{Tool: "plan", Code: "never_applied"}}
		return out, nil
	}
	defer st.Close()
	out.Run = report.WorkOn(st)
	if out.Seal != nil {
		out.Seal.Spent = report.Spent(st)
	}
	for _, f := range report.AcceptedStack(st).Features {
		out.Stack = append(out.Stack, f.Feature)
	}
	var open []statusNode
	for _, r := range report.Rows(st) {
		switch d := r.Decided; {
		case !r.Locked.IsZero():
			out.Verdicts["locked"]++
			locked := briefly(r.Locked)
			open = append(open, statusNode{Node: r.Node, Locked: &locked})
		case d == nil:
			out.Verdicts["undecided"]++
			open = append(open, statusNode{Node: r.Node})
		default:
			out.Verdicts[string(d.Verdict)]++
			if d.Verdict != verdict.Pass {
				open = append(open, statusNode{Node: r.Node, Verdict: string(d.Verdict), Reasons: briefs(d.Reasons)})
			}
		}
	}
	out.Open, out.More = few(open)
	for _, n := range out.Open {
		if n.Verdict != "" && len(out.Next) < 3 {
			out.Next = append(out.Next, nextCall{"explain", n.Node, n.Verdict})
		}
	}
	return out, nil
}

type explainAsk struct {
	Node    string `json:"node" jsonschema:"a gate, feature or node"`
	Attempt int    `json:"attempt,omitempty" jsonschema:"an earlier attempt; the newest if 0"`
}

type ExplainAnswer struct {
	Node    string           `json:"node"`
	Verdict verdict.Verdict  `json:"verdict,omitempty"`
	Attempt int              `json:"attempt,omitempty"`
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	// Findings, Causes and Notes are the facts beside the verdict.
	Causes []verdict.Reason `json:"causes,omitempty"`
	Notes  []verdict.Reason `json:"notes,omitempty"`
	Locked verdict.Reason   `json:"locked,omitzero"`
	// Moved are metrics that demonstrably changed.
	Moved any `json:"moved,omitempty"`
	// LogTail is the end of the engine's log, if it broke.
	LogTail []string `json:"log_tail,omitempty"`
}

func (s *server) explain(st *store.Store, ask explainAsk) (any, error) {
	node, alternative, err := s.Find(st, ask.Node)
	if err != nil {
		return nil, err
	}
	e, err := explain.Of(st, node, alternative, ask.Attempt)
	if err != nil {
		return nil, err
	}
	out := ExplainAnswer{Node: e.Node, Causes: e.Causes, Notes: e.Notes, Locked: e.Locked}
	if len(e.Moved) > 0 {
		out.Moved, _ = few(e.Moved)
	}
	if d := e.Decision; d != nil {
		out.Verdict, out.Attempt, out.Reasons, out.LogTail = d.Verdict, d.Attempt, d.Reasons, d.LogTail
	}
	return out, nil
}

type showAsk struct {
	ID string `json:"id" jsonschema:"a run's ID, latest, or a launch's ID"`
}

type showAnswer struct {
	Run       string       `json:"run"`
	Done      bool         `json:"done"`
	Exit      int          `json:"exit"`
	Verdict   string       `json:"verdict,omitempty"`
	Decisions []statusNode `json:"decisions"`
	Launches  []launchLine `json:"launches"`
	More      int          `json:"more,omitempty"`
}

type launchLine struct {
	ID      string  `json:"id"`
	Variant string  `json:"variant"`
	Purpose string  `json:"purpose"`
	OK      bool    `json:"ok"`
	Seconds float64 `json:"seconds"`
}

type launchAnswer struct {
	ID      string                     `json:"id"`
	Variant string                     `json:"variant"`
	Knobs   map[string]string          `json:"knobs,omitempty"`
	OK      bool                       `json:"ok"`
	Error   verdict.Reason             `json:"error,omitzero"`
	Invalid []verdict.Reason           `json:"invalid,omitempty"`
	LogTail []string                   `json:"log_tail,omitempty"`
	Metrics map[string]measure.Summary `json:"metrics,omitempty"`
}

func (s *server) show(st *store.Store, ask showAsk) (any, error) {
	if l, ok := st.LaunchByID(ask.ID); ok {
		return launchAnswer{l.ID, l.Variant, l.Knobs, l.OK, l.Error, l.Invalid, l.LogTail, l.Metrics}, nil
	}
	v, err := st.Run(ask.ID)
	if err != nil {
		return nil, err
	}
	out := showAnswer{Run: v.ID, Done: v.Done, Exit: v.Exit, Verdict: string(v.Verdict)}
	var decided []statusNode
	for _, d := range v.Decisions {
		decided = append(decided, statusNode{Node: d.Node, Verdict: string(d.Verdict), Reasons: briefs(d.Reasons)})
	}
	var launches []launchLine
	for _, l := range v.Launches {
		launches = append(launches, launchLine{l.ID, l.Variant, l.Purpose, l.OK, l.Seconds})
	}
	var more int
	out.Decisions, out.More = few(decided)
	out.Launches, more = few(launches)
	out.More += more
	return out, nil
}

type nameAsk struct {
	Name string `json:"name,omitempty" jsonschema:"one of the names; lists them if empty"`
}

type NamesAnswer struct {
	Names []string `json:"names"`
}

func (s *server) schema(_ context.Context, ask nameAsk) (any, error) {
	text, err := load.JSONSchema(steps.Registry())
	if err != nil {
		return nil, err
	}
	var all struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	parts := all.Properties
	if parts == nil {
		parts = map[string]json.RawMessage{}
	}
	maps.Copy(parts, all.Defs)
	return named(parts, ask.Name, "part of the language")
}

func (s *server) kinds(_ context.Context, ask nameAsk) (any, error) {
	all := map[string]any{}
	for _, k := range kinds.All() {
		all[k.Name] = nil
	}
	if k, ok := kinds.Lookup(ask.Name); ok {
		return s.Kind(k), nil
	}
	return named(all, ask.Name, "kind of engine")
}

// named returns the named item, or all names if none is given.
func named[T any](all map[string]T, name, what string) (any, error) {
	names := slices.Sorted(maps.Keys(all))
	if name == "" {
		return NamesAnswer{names}, nil
	}
	v, ok := all[name]
	if !ok {
		return nil, fmt.Errorf("there is no %s %q; choose from: %s", what, name, strings.Join(names, ", "))
	}
	return v, nil
}
