package trace

import (
	"math"
	"testing"
)

// side is an analysis of decoding: kernels, and the times of a step around them.
func side(steps int, wall, busy, unprofiled float64, kernels ...Kernel) *Analysis {
	n := float64(steps)
	p := Part{Phase: Decode, Requests: 1, Steps: steps, GPUs: 1, Wall: n * wall, Busy: n * busy, Unprofiled: unprofiled}
	for _, k := range kernels {
		k.Count, k.Total = k.Count*steps, k.Total*n
		p.Kernels = append(p.Kernels, k)
	}
	return Join(&Analysis{Parts: []Part{p}})
}

var (
	before = []Kernel{
		{Name: "a", Category: "moe", Count: 2, Total: 60},
		{Name: "b", Category: "attention", Count: 1, Total: 30},
	}
	after = []Kernel{
		{Name: "c", Category: "moe", Count: 1, Total: 20},
		{Name: "b", Category: "attention", Count: 1, Total: 40},
	}
)

func changesOf(p PartDiff, kind string) (out []Change) {
	for _, c := range p.Changes {
		if c.Kind == kind {
			out = append(out, c)
		}
	}
	return out
}

// TestDiff: the parts of a step add up to its change, however many steps either side has,
// and with streams that overlap.
func TestDiff(t *testing.T) {
	for name, c := range map[string]struct {
		a, b     *Analysis
		profiled bool
		delta    float64
		shares   map[string]float64
	}{
		"with the profiler": {
			side(10, 110, 85, 0, before...), side(4, 80, 60, 0, after...), true, -30,
			map[string]float64{"moe": 4.0 / 3, "attention": -1.0 / 3, "overlap": -5.0 / 30, "waits": 5.0 / 30},
		},
		"without": {
			side(10, 110, 85, 100, before...), side(4, 80, 60, 60, after...), false, -40,
			map[string]float64{"moe": 1, "attention": -0.25, "overlap": -0.125, "waits": 0.125, "profiler": 0.25},
		},
		"hardly changed": {side(10, 110, 85, 0, before...), side(4, 110.2, 60, 0, after...), true, 0.2, nil},
		"sums alone":     {side(10, 0, 0, 0, before...), side(4, 0, 0, 0, after...), false, math.NaN(), nil},
	} {
		d := DiffOf(c.a, c.b)
		if len(d.Parts) != 1 {
			t.Fatalf("%s: %+v", name, d)
		}
		p := d.Parts[0]
		if p.Unit != "step" || p.Profiled != c.profiled || (p.Step == nil) != math.IsNaN(c.delta) ||
			math.Abs(changesOf(p, OfGPU)[0].Delta()+30) > 1e-9 {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		if k := changesOf(p, OfKernel); len(k) != 3 || k[0].Name != "a" || k[0].A != 60 || k[0].B != 0 {
			t.Errorf("%s: kernels %+v", name, k)
		}
		if p.Step == nil {
			continue
		}
		if math.Abs(p.Step.Delta()-c.delta) > 1e-9 {
			t.Errorf("%s: a step changes by %v µs", name, p.Step.Delta())
		}
		sum, shares := 0.0, 0.0
		for _, change := range append(changesOf(p, OfCategory), changesOf(p, OfRest)...) {
			sum += change.Delta()
			if (change.Share != nil) != (c.shares != nil) {
				t.Errorf("%s: share of %s is %v", name, change.Name, change.Share)
			} else if change.Share != nil {
				shares += *change.Share
				if want := c.shares[change.Name]; math.Abs(*change.Share-want) > 1e-9 {
					t.Errorf("%s: %s explains %v, want %v", name, change.Name, *change.Share, want)
				}
			}
		}
		if math.Abs(sum-c.delta) > 1e-9 || c.shares != nil && math.Abs(shares-1) > 1e-9 {
			t.Errorf("%s: parts come to %v µs, %v of the change", name, sum, shares)
		}
	}
	other := side(1, 1, 1, 0, before...)
	other.Parts[0].Requests = 8
	if d := DiffOf(other, side(1, 1, 1, 0, before...)); len(d.Parts) != 0 {
		t.Errorf("different numbers of requests: %+v", d)
	}
}

// TestJoin: windows stay separate, the GPUs of one become one part.
func TestJoin(t *testing.T) {
	prefill := side(1, 500, 400, 0, before...)
	prefill.Parts[0].Phase = Prefill
	all := Join(side(10, 100, 90, 95, before...), side(10, 100, 80, 0, after...), prefill)
	if len(all.Parts) != 2 || all.Parts[0].Phase != Prefill || all.Parts[1].GPUs != 2 || all.Parts[1].Steps != 20 ||
		all.Parts[1].Unprofiled != 95 {
		t.Fatalf("%+v", all.Parts)
	}
	p := all.Parts[1]
	if p.GPU != 1500 || p.Busy != 1700 || len(p.Kernels) != 3 || p.Kernels[0].Name != "b" ||
		p.Kernels[0].Total != 700 || p.Kernels[0].Count != 20 {
		t.Errorf("%+v", p)
	}
}

func TestReadAnnotation(t *testing.T) {
	for text, want := range map[string]Annotation{
		"execute_context_0(0)_generation_8(8)":                                   {Decode, 8, 8},
		"execute_context_2(512)_generation_0(0)":                                 {Prefill, 2, 512},
		"execute_context_1(100)_generation_3(3)":                                 {Mixed, 4, 103},
		"execute_context_0(0)_generation_4(16)":                                  {Decode, 4, 16},
		"execute_77_context_3(sq128sk256sqsq1sqsk1)_generation_0()":              {Prefill, 3, 128},
		"execute_5_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk300sqsq1sqsk1)": {Decode, 2, 2},
		"step[DECODE bs=4]":                                                      {Decode, 4, 4},
		"step[EXTEND bs=2 toks=107]":                                             {Prefill, 2, 107},
		"step[MIXED bs=2]":                                                       {Mixed, 2, 0},
		"step[TARGET_VERIFY bs=3]":                                               {Decode, 3, 0},
		"[Executor] _forward_step 12: 1 ctx reqs, 0 gen reqs":                    {Prefill, 1, 0},
		"[Executor] _forward_step: 0 ctx reqs, 5 gen reqs":                       {Decode, 5, 5},
		"execute_context_99999999999999999999999999999999(1)_generation_1(1)":    {Decode, 1, 1},
		"execute_context_0(0)_generation_0(0)":                                   {},
		"step[IDLE bs=1]":                                                        {},
		"step[DECODE bs=0]":                                                      {},
		"step[DECODE":                                                            {},
		"execute_model":                                                          {},
		"_forward_step":                                                          {},
		"":                                                                       {},
	} {
		got, ok := ReadAnnotation(text)
		if ok != (want.Phase != "") || ok && got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
}
