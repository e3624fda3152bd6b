package steps

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

// EngineCheck is what one start of an engine showed, outside of any run.
type EngineCheck struct {
	Engine   string            `json:"engine"`
	Kind     string            `json:"kind"`
	Launcher string            `json:"launcher"`
	Knobs    map[string]string `json:"knobs,omitempty"`
	OK       bool              `json:"ok"`
	// Error, LogTail and Exit say how it broke.
	Error   verdict.Reason `json:"error,omitzero"`
	LogTail []string       `json:"log_tail,omitempty"`
	Exit    *int           `json:"exit,omitempty"`
	// StartupS and FirstRequestS are seconds, nil where there was none.
	StartupS      *float64 `json:"startup_s,omitempty"`
	FirstRequestS *float64 `json:"first_request_s,omitempty"`
	// Started is what was started, as a launch's record has it.
	Started map[string]string `json:"started"`
	// Model is the name asked for, Models those that the engine lists, and
	// MaxModelLen the length that it gives for the first, 0 where it does not.
	Model       string   `json:"model,omitempty"`
	Models      []string `json:"models,omitempty"`
	MaxModelLen int      `json:"max_model_len,omitempty"`
	Prompt      string   `json:"prompt,omitempty"`
	Answer      string   `json:"answer,omitempty"`
	// Observed is what it said of itself, Unobserved why the rest is not known.
	Observed   map[string]ledger.Observed `json:"observed,omitempty"`
	Unobserved map[string]verdict.Reason  `json:"unobserved,omitempty"`
	// Findings are what was asked beyond that, in order.
	Findings []Finding        `json:"findings,omitempty"`
	Notes    []verdict.Reason `json:"notes,omitempty"`
	// Log is the path of its log, empty where there is none.
	Log string `json:"log,omitempty"`
}

// Finding is one thing that was tried.
type Finding struct {
	// Name is a word: "tokenizer", "ignore_eos".
	Name string `json:"name"`
	// Good is false where a measurement would suffer from it.
	Good bool           `json:"good"`
	Says verdict.Reason `json:"says"`
}

// CheckEngine starts one engine of the plan, with the knobs given over their
// defaults, looks at it from all sides and stops it. Nothing is recorded. The
// error is a mistake in what was asked for; an engine that breaks is a result.
// Ending ctx stops the engine in order, ending hard at once.
func CheckEngine(ctx, hard context.Context, l *launch.Lab, key string, set map[string]string) (*EngineCheck, error) {
	e := l.Plan.Engine(key)
	if e == nil {
		return nil, fmt.Errorf("there is no engine %q", key)
	}
	if e.IsCommand() {
		return nil, fmt.Errorf("engine %s is a command and no server: there is nothing to ask it; mxflow apply runs it", key)
	}
	knobs := map[string]string{}
	for _, k := range l.Plan.Knobs {
		knobs[k.Name] = k.Default
	}
	if b := l.Plan.Baseline; b != nil && b.Engine == key {
		maps.Copy(knobs, b.Set)
	} else if len(set) == 0 {
		knobs = nil // the engine as it is written
	}
	maps.Copy(knobs, set)
	node := &runtime.Node{ID: "engine check"}
	s := &runtime.Scope{Plan: l.Plan, Node: node, Run: "check", Context: ctx, Known: &sync.Map{}, Hard: hard, Emit: func(runtime.Event) {}}
	v, err := l.Resolve(s, "check", key, knobs)
	if err != nil {
		return nil, err
	}
	record := &ledger.Launch{ID: "check-" + runtime.ShortID(time.Now(), key), Session: "check", Purpose: "check", Ordinal: 1, Order: 1, OK: true}
	out := &EngineCheck{Engine: key, Kind: v.Spec.Kind, Launcher: string(v.Spec.How()), Knobs: knobs}
	st, err := l.Launch(ctx, s, v, record)
	if st == nil {
		return nil, err
	}
	if err == nil {
		inspect(ctx, st, v, out)
		st.Stop(s)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out.fill(st, record)
	return out, nil
}

// fill takes over what the record of the launch says.
func (c *EngineCheck) fill(st *launch.Started, r *ledger.Launch) {
	c.OK, c.Error, c.LogTail, c.Exit = r.OK, r.Error, r.LogTail, r.Exit
	c.Started, c.Notes = r.Engine, append(r.Notes, c.Notes...)
	c.StartupS, c.FirstRequestS = seconds(r, "engine.startup_s"), seconds(r, "engine.first_request_s")
	if st.Inst != nil {
		c.Log = st.Inst.LogPath()
	}
}

func seconds(r *ledger.Launch, metric string) *float64 {
	s, ok := r.Metrics[metric]
	if !ok {
		return nil
	}
	median := s.Stats["median"]
	return &median
}

// inspect asks a running engine for all that measuring will ask it.
func inspect(ctx context.Context, st *launch.Started, v *variant.Variant, c *EngineCheck) {
	if models, err := st.Client.Models(ctx); err == nil {
		c.MaxModelLen = models[0].MaxLen
		for _, m := range models {
			c.Models = append(c.Models, m.ID)
		}
	}
	if c.Model = v.Spec.Model; c.Model == "" && len(c.Models) > 0 {
		c.Model = c.Models[0]
	}
	i := &inspection{Started: st, kind: variant.KindOf(v.Spec), check: c}
	for _, look := range []func(context.Context) error{i.answer, i.tokenizer, i.length, i.cache, i.metrics} {
		if err := look(ctx); err != nil {
			if ctx.Err() == nil {
				st.Broke(err)
			}
			return
		}
	}
	seen, not, err := st.Look(ctx, v)
	if err != nil {
		c.Notes = append(c.Notes, verdict.New(code.NothingObserved, verdict.Line(err)))
	}
	c.Observed, c.Unobserved = seen, not
	i.log()
}

// inspection is what the questions of a check share.
type inspection struct {
	*launch.Started
	kind  kinds.Kind
	check *EngineCheck
}

func (i *inspection) found(name string, good bool, what code.Code, args ...verdict.Arg) {
	i.check.Findings = append(i.check.Findings, Finding{name, good, verdict.New(what, args...).Map(i.Lab.Redact.Text)})
}
