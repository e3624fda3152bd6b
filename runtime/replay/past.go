package replay

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// past is the record as it was when a decision was made, with the metrics of launches derived from
// their raw data again: what decide.View needs of it.
type past struct {
	*Replay
	out  *Replayed
	of   ledger.Decided
	view *decide.View
	// gone is why the raw data of a launch that was asked for cannot be read.
	gone error
}

// viewAt is what a decision by a plan saw.
func (r *Replay) viewAt(out *Replayed, d ledger.Decided, plan *plans.Plan, g *runtime.Graph) *past {
	p := &past{Replay: r, out: out, of: d}
	p.view = &decide.View{
		Plan: plan, Graph: g, Outcomes: p, Record: p, Identities: p, Goals: r.runs[d.Run].Goals, Cache: r.cache,
	}
	return p
}

// Outcome is the newest decision about a node before this one. Nodes that come after its own had none.
func (p *past) Outcome(id string) *ledger.Decision {
	n, own := p.view.Graph.Node(id), p.view.Graph.Node(p.of.Node)
	if n == nil || own == nil || n.Order >= own.Order || !p.LockedBy(id).IsZero() {
		return nil
	}
	return latestBefore(p.store, id, p.of.Record)
}

func latestBefore(st *store.Store, node string, record int) *ledger.Decision {
	all := st.History(node)
	n := sort.Search(len(all), func(i int) bool { return all[i].Record >= record })
	if n == 0 {
		return nil
	}
	return all[n-1].Decision
}

// LockedBy is what the run recorded at its end or, of one that has none, what follows from the outcomes
// in it.
func (p *past) LockedBy(id string) verdict.Reason {
	locked, known := p.locked[p.of.Run]
	if !known {
		locked = (&runtime.Runner{
			Plan: p.view.Plan, Graph: p.view.Graph, Now: func() time.Time { return p.of.Time },
			Journal: p.journalBefore(p.last[p.of.Run] + 1),
		}).LockedNodes()
		p.locked[p.of.Run] = locked
	}
	return locked[id]
}

func (*past) Assumed(string) bool { return false }

func (p *past) LaunchByID(id string) (*ledger.Launch, bool) {
	l, err := p.recomputeLaunch(p.out, id)
	if err != nil && p.gone == nil {
		p.gone = err
	}
	return l, l != nil
}

func (p *past) Records() iter.Seq2[int, *ledger.Record] {
	return func(yield func(int, *ledger.Record) bool) {
		for i, rec := range p.store.Records() {
			if i >= p.of.Record || !yield(i, rec) {
				return
			}
		}
	}
}

// Arms are a candidate and its references as their launches identify them: by engine and knobs, as names
// change, or else by name. The key of one that was never launched is empty.
func (p *past) Arms(f *plans.Feature) (a decide.Arms, err error) {
	if a, err = decide.ArmsOf(p.view, f); err != nil {
		return a, err
	}
	own := *f // an alternative represents a feature that chooses
	own.Name = a.Candidate.Name
	launches := p.launchesFor(&own)
	for _, arm := range []*decide.Arm{&a.Candidate, &a.Parent, &a.Root} {
		arm.Knobs = p.view.Plan.DefaultKnobs()
		maps.Copy(arm.Knobs, arm.Set)
		i := slices.IndexFunc(launches, func(l *ledger.Launch) bool {
			return l.Block == arm.Engine && maps.Equal(l.Knobs, arm.Knobs)
		})
		if i < 0 {
			i = slices.IndexFunc(launches, func(l *ledger.Launch) bool { return l.Variant == arm.Name })
		}
		if i >= 0 {
			arm.Engine, arm.Key, arm.Knobs = launches[i].Block, launches[i].VariantKey, launches[i].Knobs
		}
	}
	return a, nil
}

// launchesFor are the launches that may be of a candidate and its references: of its session, and of
// the qualifications before.
func (p *past) launchesFor(f *plans.Feature) (all []*ledger.Launch) {
	session := p.of.Session
	if id := runtime.BenchmarkID(f.Name); p.of.Node != id {
		session = ""
		if d := p.Outcome(id); d != nil {
			session = d.Session
		}
	}
	if session != "" {
		all = p.session(session)
	}
	for _, node := range decide.QualifyingNodes(p.view.Plan, f) {
		d := p.Outcome(node)
		if d == nil {
			continue
		}
		for _, id := range d.Launches {
			if l, ok := p.store.LaunchByID(id); ok {
				all = append(all, l)
			}
		}
	}
	return all
}

// Changed implements decide.Identities: what differs now is no matter of then.
func (*past) Changed(*plans.Feature) verdict.Reason { return verdict.Reason{} }

// session are the launches of a session, which many decisions rest on.
func (r *Replay) session(id string) []*ledger.Launch {
	all, known := r.sessions[id]
	if !known {
		all = r.store.Launches(store.LaunchFilter{Session: id})
		r.sessions[id] = all
	}
	return slices.Clone(all)
}

// journal is the record before some position, with the waivers of then.
type journal struct {
	store   *store.Store
	record  int
	waivers map[string]*ledger.Waiver
}

func (r *Replay) journalBefore(record int) journal {
	j := journal{r.store, record, map[string]*ledger.Waiver{}}
	for i, rec := range r.store.Records() {
		if i >= record {
			break
		}
		if w := rec.Waiver; w != nil {
			j.waivers[w.Node] = w
		}
	}
	return j
}

func (j journal) Latest(node string) *ledger.Decision { return latestBefore(j.store, node, j.record) }

func (j journal) Waiver(node string) *ledger.Waiver { return j.waivers[node] }

func (journal) Append(...*ledger.Record) error {
	return errors.New("a replay records nothing (a bug in mxflow)")
}
