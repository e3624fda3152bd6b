package steps

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

var benchmarkKind = levelKind{
	schema: plans.Schema{
		Doc: "Measures the candidate against its parent in fresh, interleaved launches. Each launch starts the engine anew, warms it up and sends every workload.",
		Example: `level "benchmark" {
  workloads = [workload.chat]
  launches  = 3
}`,
		Attrs: []plans.Attr{
			{Name: "workloads", Type: plans.Refs, Ref: "workload", Doc: "What is sent, in this order. Required for a server; an engine of kind `command` brings its own work and has none."},
			{Name: "launches", Type: plans.Int, Default: 3.0, Unit: "launches an arm", Min: 1, MinSet: true, Doc: "Launches of each arm. With one, no number can pass a rule."},
		},
		Check: func(b *plans.Block) []plans.AttrError {
			if w, ok := b.Attrs["workloads"].([]any); ok && len(w) == 0 {
				return []plans.AttrError{{Attr: "workloads", Summary: "Nothing to measure", Detail: "Name at least one workload, as in workloads = [workload.chat]."}}
			}
			return nil
		},
	},
}

type benchmarkConfig struct {
	Workloads []string `json:"workloads"`
	Launches  int      `json:"launches"`
}

// benchmark measures a candidate and what it is compared with.
type benchmark struct {
	lab     *Lab
	feature *plans.Feature
}

// benchmarked reports whether a feature's protocol has a benchmark.
func (l *Lab) benchmarked(f *plans.Feature) bool {
	p := l.Plan.Protocol(f.Protocol)
	return p != nil && p.Level(benchmarkLevel) != nil
}

func (b *benchmark) config() (c benchmarkConfig, ws []*plans.Workload, err error) {
	if err = b.lab.Plan.Protocol(b.feature.Protocol).Level(benchmarkLevel).Decode(&c); err != nil {
		return c, nil, err
	}
	for _, name := range c.Workloads {
		ws = append(ws, b.lab.Plan.Workload(name))
	}
	return c, ws, nil
}

// arms lists the variants to launch. The baseline joins when a rule asks for it.
func (b *benchmark) arms(s *runtime.Scope) ([]*variant, arms, error) {
	a, err := b.lab.armsOf(s, b.feature)
	if err != nil {
		return nil, a, err
	}
	return a.distinct(b.readsRoot()), a, nil
}

func (b *benchmark) readsRoot() bool {
	rules := append([]*plans.Rule(nil), b.feature.Criteria...)
	for _, ph := range b.lab.Plan.Phases {
		if ph.Gate != nil {
			rules = append(rules, ph.Gate.Rules...)
		}
	}
	for _, r := range rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Root && in.Feature == b.feature.Name {
				return true
			}
		}
	}
	return false
}

// Keys: the number of launches decides, it does not measure, so asking for more
// goes on with the same session. A candidate that is not qualified has another
// key than one that is.
func (b *benchmark) Keys(s *runtime.Scope) (runtime.Keys, error) {
	vs, _, err := b.arms(s)
	if err != nil {
		return runtime.Keys{}, err
	}
	c, ws, err := b.config()
	if err != nil {
		return runtime.Keys{}, err
	}
	q := s.Outcome(runtime.QualifyID(b.feature.Name))
	if q == nil {
		return runtime.Keys{}, runtime.ErrUndecided
	}
	measure := b.lab.benchmarkKey(ws, vs)
	if q.Verdict != verdict.Pass {
		measure = digest("unqualified", measure, identity(q))
	}
	return runtime.Keys{Measure: measure, Decide: digest(slices.Concat([]any{"launches", c.Launches}, b.lab.freed(), b.lab.acceptedParts())...), Why: b.lab.treesChanged(vs...)}, nil
}

func (b *benchmark) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	began := time.Now()
	vs, a, err := b.arms(s)
	if err != nil {
		return nil, err
	}
	c, ws, err := b.config()
	if err != nil {
		return nil, err
	}
	level := ledger.Level{Name: benchmarkLevel}
	out := &ledger.Decision{Variant: maps.Clone(a.candidate.knobs)}
	switch q := s.Outcome(runtime.QualifyID(b.feature.Name)); {
	case q != nil && q.Verdict != verdict.Pass:
		v, cause := broken(q)
		level.Verdict, level.Reasons = v, reason("not measured: %s", cause)
		out.Derived = true
	case a.candidate.key == a.parent.key:
		level.Verdict = verdict.Invalid
		level.Reasons = reason("the candidate is the same variant as %s, so there is nothing under test", a.parent.name)
		out.Derived = true
	default:
		if err := b.measure(ctx, s, vs, ws, c, out, &level); err != nil {
			return nil, err
		}
	}
	level.Seconds = time.Since(began).Seconds()
	out.Levels = []ledger.Level{level}
	out.Verdict, out.Reasons = level.Verdict, level.Reasons
	return out, nil
}

// measure makes the launches that the session lacks, in order.
func (b *benchmark) measure(ctx context.Context, s *runtime.Scope, vs []*variant, ws []*plans.Workload, c benchmarkConfig, out *ledger.Decision, level *ledger.Level) error {
	slots := interleave(vs, c.Launches)
	session, err := b.lab.sessionID(s, len(slots))
	if err != nil {
		return err
	}
	out.Session = session
	have, err := b.lab.session(session)
	if err != nil {
		return err
	}
	var used []*ledger.Launch
	for _, sl := range slots {
		launch := existing(have, sl)
		if launch == nil {
			if launch, err = b.one(ctx, s, session, sl, len(slots), ws); err != nil {
				return err
			}
		}
		used = append(used, launch)
		out.Launches = append(out.Launches, launch.ID)
		if !launch.OK {
			level.Verdict = verdict.Error
			level.Reasons = reason("launch %d of %d (%s): %s", sl.order, len(slots), sl.variant.name, launch.Error)
			out.LogTail, out.Exit = launch.LogTail, launch.Exit
			return nil
		}
		if why := b.lab.otherEnvironment(used, vs); why != "" {
			level.Verdict, level.Reasons = verdict.Invalid, []string{why}
			return nil
		}
	}
	if level.Verdict, level.Reasons = b.lab.movedTrees(ctx, used, vs, s.Outcome(runtime.QualifyID(b.feature.Name))); level.Verdict != "" {
		return nil
	}
	level.Verdict, level.Reasons = valid(used, vs, c.Launches)
	why, err := b.lab.disagree(used, vs)
	if why != "" && level.Verdict == verdict.Pass {
		level.Verdict, level.Reasons = verdict.Invalid, []string{why}
	}
	return err
}

// one makes one launch: start, warm up, send every cell of every workload, stop.
func (b *benchmark) one(ctx context.Context, s *runtime.Scope, session string, sl slot, total int, ws []*plans.Workload) (*ledger.Launch, error) {
	ev := runtime.Event{
		Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature, Level: benchmarkLevel, Variant: sl.variant.name,
		Launch: sl.order, Launches: total, LaunchID: launchID(session, sl),
	}
	started := ev
	started.Type = "launch_started"
	s.Emit(started)
	record := &ledger.Launch{ID: ev.LaunchID, Session: session, Purpose: "benchmark", Ordinal: sl.ordinal, Order: sl.order, OK: true}
	st, err := b.lab.launch(ctx, s, sl.variant, record)
	if err == nil {
		err = st.work(ctx, sl.variant, ws, func(request, requests int) {
			e := ev
			e.Type, e.Request, e.Requests = "request_done", request, requests
			s.Emit(e)
		})
		switch {
		case err == nil:
			st.observe(ctx, sl.variant)
		case ctx.Err() == nil:
			st.broke(err)
		}
		st.stop(s)
	} else if st == nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// Whoever hears that a launch is done may rely on its being on record.
	if err := st.keep(s); err != nil {
		return nil, err
	}
	ev.Type, ev.Seconds = "launch_done", record.Seconds
	if !record.OK {
		ev.Message = record.Error
	}
	s.Emit(ev)
	return record, nil
}

// valid judges whether complete launches count: an arm whose answers do not
// read as text, where those of the other arm do, has proved nothing by being
// fast, and a prompt that the engine had cached was not computed.
func valid(launches []*ledger.Launch, vs []*variant, rounds int) (verdict.Verdict, []string) {
	garbage := map[string][]string{}
	var notes []string
	for _, l := range launches {
		garbage[l.VariantKey] = append(garbage[l.VariantKey], l.Incoherent...)
		for _, n := range l.Notes {
			if strings.HasPrefix(n, contaminated) {
				return verdict.Invalid, reason("launch %s: %s", l.ID, n)
			}
			notes = append(notes, l.ID+": "+n)
		}
	}
	parent := garbage[vs[0].key]
	for _, v := range vs[1:] {
		if g := garbage[v.key]; len(g) > len(parent) {
			return verdict.Invalid, reason("%d answers of %s do not read as text, against %d of %s: %s", len(g), v.name, len(parent), vs[0].name, g[0])
		}
	}
	return verdict.Pass, append([]string{fmt.Sprintf("%d launches an arm", rounds)}, notes...)
}
