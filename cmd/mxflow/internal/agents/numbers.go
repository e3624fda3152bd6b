package agents

import (
	"github.com/mxflow/mxflow/engine/profile"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

type compareAsk struct {
	A string `json:"a" jsonschema:"a feature, baseline, a run or commit; feature@run is the feature as that run measured it"`
	B string `json:"b" jsonschema:"as a"`
}

// CompareAnswer is two sides of the record, variant by variant.
type CompareAnswer struct {
	Pairs []pairLine `json:"pairs"`
	More  int        `json:"more,omitempty"`
}

type pairLine struct {
	Old sideLine `json:"old"`
	New sideLine `json:"new"`
	// Deltas start with those that the launches distinguish from none.
	Deltas []deltaLine      `json:"deltas"`
	More   int              `json:"more,omitempty"`
	Notes  []verdict.Reason `json:"notes,omitempty"`
}

type sideLine struct {
	Variant string `json:"variant"`
	Session string `json:"session"`
}

// deltaLine has the number of launches per side instead of a list.
type deltaLine struct {
	report.Delta
	Old meanLine `json:"old"`
	New meanLine `json:"new"`
}

type meanLine struct {
	Mean     float64 `json:"mean"`
	SD       float64 `json:"sd"`
	Launches int     `json:"launches"`
}

func (s *server) compare(st *store.Store, ask compareAsk) (any, error) {
	all, err := report.PairsOf(st, ask.A, ask.B)
	if err != nil {
		return nil, err
	}
	out := CompareAnswer{Pairs: []pairLine{}}
	pairs, more := few(all)
	out.More = more
	for _, p := range pairs {
		line := pairLine{Old: sideLine{p.Old.Variant, p.Old.Session}, New: sideLine{p.New.Variant, p.New.Session}, Deltas: []deltaLine{}, Notes: p.Notes}
		var told []report.Delta
		for _, shown := range []bool{true, false} {
			for _, d := range p.Deltas {
				if d.Shown() == shown {
					told = append(told, d)
				}
			}
		}
		told, line.More = first(told, shareOf(len(pairs)))
		for _, d := range told {
			line.Deltas = append(line.Deltas, deltaLine{d, meanLine{d.Old.Mean, d.Old.SD, d.Old.N()}, meanLine{d.New.Mean, d.New.SD, d.New.N()}})
		}
		out.Pairs = append(out.Pairs, line)
	}
	return out, nil
}

// shareOf is the maximum length of each of several lists, to keep an answer small.
func shareOf(lists int) int { return max(3, mostAnswered/max(1, lists)) }

// Profiled is a launch's profile.
type Profiled struct {
	Launch, Variant string
	Is              *profile.Analysis
}

type profileAsk struct {
	Feature string `json:"feature,omitempty" jsonschema:"the baseline if empty"`
}

// ProfileAnswer is where time goes. Its kernels are the longest, those of Diff the most
// changed.
type ProfileAnswer struct {
	Variant string     `json:"variant"`
	Launch  string     `json:"launch"`
	Parts   []partLine `json:"parts"`
	// Parent and its launch are what Diff is compared with; without them there is no
	// Diff.
	Parent       string             `json:"parent,omitempty"`
	ParentLaunch string             `json:"parent_launch,omitempty"`
	Diff         []profile.PartDiff `json:"diff,omitempty"`
	More         int                `json:"more,omitempty"`
}

// partLine has short names of kernels: full ones have thousands of characters.
type partLine struct {
	profile.Part
	Kernels []kernelLine `json:"kernels"`
}

type kernelLine struct {
	Short    string  `json:"short"`
	Category string  `json:"category"`
	Count    int     `json:"count"`
	Total    float64 `json:"us"`
}

func (s *server) profile(st *store.Store, ask profileAsk) (any, error) {
	own, parent, err := s.Profile(st, ask.Feature)
	if err != nil {
		return nil, err
	}
	out := ProfileAnswer{Variant: own.Variant, Launch: own.Launch, Parts: []partLine{}}
	parts, more := few(own.Is.Parts)
	out.More = more
	for _, p := range parts {
		line := partLine{Part: p, Kernels: []kernelLine{}}
		most := shareOf(len(parts))
		kernels, more := first(p.Kernels, most)
		out.More += more
		for _, k := range kernels {
			line.Kernels = append(line.Kernels, kernelLine{k.Short, k.Category, k.Count, k.Total})
		}
		line.Waits, more = first(p.Waits, most)
		out.More += more
		line.Threads, more = first(p.Threads, most)
		out.More += more
		out.Parts = append(out.Parts, line)
	}
	if parent == nil {
		return out, nil
	}
	out.Parent, out.ParentLaunch = parent.Variant, parent.Launch
	diffs, more := few(profile.DiffOf(parent.Is, own.Is).Parts)
	out.More += more
	for _, d := range diffs {
		most := shareOf(len(diffs))
		d.Kernels, more = first(d.Kernels, most)
		out.More += more
		for i := range d.Kernels {
			if d.Kernels[i].Short != "" {
				d.Kernels[i].Name = ""
			}
		}
		d.Waits, more = first(d.Waits, most)
		out.More += more
		out.Diff = append(out.Diff, d)
	}
	return out, nil
}
