package roofline

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/profile"
)

// gptOSS is the part of gpt-oss-20b's config.json that is read here.
const gptOSS = `{"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32, "hidden_size": 2880, "num_attention_heads": 64,
	"num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "num_experts_per_tok": 4, "sliding_window": 128, "vocab_size": 201088,
	"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}}`

func h100(t *testing.T, context float64) Basis {
	t.Helper()
	m, err := limit.Read([]byte(gptOSS))
	if err != nil {
		t.Fatal(err)
	}
	on, err := limit.Of([]string{"NVIDIA H100 80GB HBM3"})
	if err != nil {
		t.Fatal(err)
	}
	return Basis{Model: m, Machine: on, Context: context}
}

// steps is the number of decode steps that vLLM 0.25.1 made with that model and Marlin's
// experts on an H100, by a trace counted by hand.
const steps = 11

// decoded is that profile, after the changes.
func decoded(change ...func(p *profile.Part)) *profile.Part {
	p := &profile.Part{
		Phase: profile.Decode, Requests: 1, Steps: steps, Tokens: steps, Wall: 4030, Busy: 3043, GPU: 3043, Unprofiled: 3190,
		Categories: []profile.Category{{Name: "dense_gemm", Total: 1216}, {Name: "moe", Total: 938}, {Name: "attention", Total: 368}, {Name: "sampling", Total: 252}, {Name: "norm_activation", Total: 232}, {Name: "memory", Total: 37}},
		Kernels: []profile.Kernel{
			{Name: "marlin_moe", Short: "marlin_moe", Category: "moe", Count: 48 * steps, Total: 938},
			{Name: "nvjet_qkv", Short: "nvjet_qkv", Category: "dense_gemm", Count: 24 * steps, Total: 809},
			{Name: "nvjet_head", Short: "nvjet_head", Category: "dense_gemm", Count: steps, Total: 407},
		},
	}
	for _, c := range change {
		c(p)
	}
	p.Wall, p.Busy, p.GPU = steps*p.Wall, steps*p.Busy, steps*p.GPU
	for i := range p.Categories {
		p.Categories[i].Total *= steps
	}
	for i := range p.Kernels {
		p.Kernels[i].Total *= steps
	}
	for i := range p.Threads {
		p.Threads[i].Total *= steps
	}
	return p
}

func of(t *testing.T, p *profile.Part, on Basis) *Roofline {
	t.Helper()
	r, err := Of(p, on)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	return r
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 2e-3*math.Abs(want) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// TestH100 compares the profile with the limit calculated by hand for it: 1.27 GB of
// experts take 380 µs at 3.35 TB/s, and the output projection is at 85% of its limit.
func TestH100(t *testing.T) {
	r := of(t, decoded(), h100(t, 500))
	for i, want := range []struct {
		category              string
		took, limit, of, gain float64
	}{
		{"dense_gemm", 809, 381.6, 0.4717, 0.15471},
		{"lm_head", 407, 345.75, 0.8495, 0.019578},
		{"moe", 938, 378.82, 0.40386, 0.21255},
		// 24,576 bytes for each of 500 and of 128 tokens.
		{"attention", 368, 4.607, 0.01252, 0.12857},
		{"sampling", 252, 0, 0, 0},
		{"norm_activation", 232, 0, 0, 0},
		{"memory", 37, 0, 0, 0},
	} {
		row := r.Rows[i]
		if row.Category != want.category || (row.Gain != nil) != (want.gain > 0) {
			t.Fatalf("row %d is %+v, want %+v", i, row, want)
		}
		near(t, row.Category+" took", row.Took, want.took)
		near(t, row.Category+"'s limit", row.Limit, want.limit)
		near(t, row.Category+" of its limit", row.OfLimit(), want.of)
		if row.Gain != nil {
			near(t, row.Category+" at its limit", row.Gain.Most, want.gain)
		}
	}
	if r.Rows[1].Kernel != "nvjet_head" {
		t.Errorf("the output projection is %+v", r.Rows[1])
	}
	near(t, "the limit of a step", r.Limit(), 1110.8) // 900 tok/s
	b := r.Bound
	near(t, "the share of memory", b.Memory.Low, 2522.0/3190)
	near(t, "the limit that it reaches", b.OfLimit, 1110.8/2522)
	near(t, "idle", b.Idle.High, 147.0/3190)
}

// Eight prompts processed in two steps are four in each: their tokens attend only to
// their own prompt.
func TestBatch(t *testing.T) {
	prefill := func(requests, steps, tokens int, batch bool) *profile.Part {
		us := float64(steps) * 40000
		return &profile.Part{
			Phase: profile.Prefill, Requests: requests, Batch: batch, GPUs: 1, Steps: steps, Tokens: tokens, Wall: us, Busy: us, GPU: us,
			Categories: []profile.Category{{Name: "moe", Total: us / 2}, {Name: "attention", Total: us / 2}},
		}
	}
	whole, four := of(t, prefill(8, 2, 8192, true), h100(t, 0)), of(t, prefill(4, 1, 4096, false), h100(t, 0))
	for i, row := range four.Rows {
		near(t, row.Category+"'s limit", whole.Rows[i].Limit, row.Limit)
	}
}

// TestHead: the output projection is distinguished only if exactly one kernel can be it.
func TestHead(t *testing.T) {
	for name, change := range map[string]func(p *profile.Part){
		"two once a step":     func(p *profile.Part) { p.Kernels[1].Count = steps },
		"none once a step":    func(p *profile.Part) { p.Kernels[2].Count = 2 * steps },
		"faster than it goes": func(p *profile.Part) { p.Kernels[2].Total = 300 },
	} {
		r := of(t, decoded(change), h100(t, 500))
		near(t, name+": dense", r.Rows[0].Took, 1216)
		near(t, name+": dense and lm_head", r.Rows[0].Limit, 381.6+345.75)
		if len(r.Missing) > 0 || r.Bound.By != Memory {
			t.Errorf("%s: %+v, %+v", name, r.Missing, r.Bound)
		}
	}
	own := of(t, decoded(func(p *profile.Part) {
		p.Categories = append(p.Categories, profile.Category{Name: "lm_head", Total: 407})
		p.Categories[0].Total = 809
	}), h100(t, 500))
	if i := own.row("lm_head"); i != len(own.Rows)-1 || own.Rows[0].Took != 809 {
		t.Errorf("a profile that tells it apart is laid out as %+v", own.Rows)
	}
}

func TestBound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *profile.Part)
		basis  Basis
		by     Resource
		why    string
	}{
		"sums only": {func(p *profile.Part) { p.Wall, p.Busy, p.Unprofiled = 0, 0, 0 }, h100(t, 500), Unknown, Untimed},
		// The measurement without the profiler is the step.
		"sums and a step": {func(p *profile.Part) { p.Wall, p.Busy = 0, 0 }, h100(t, 500), Memory, ""},
		"two GPUs' part":  {func(p *profile.Part) { p.GPUs = 2 }, h100(t, 500), Unknown, NoLimit},
		"an H100":         {func(*profile.Part) {}, h100(t, 500), Memory, ""},
		"no limit":        {func(*profile.Part) {}, Basis{}, Unknown, NoLimit},
		"an idle GPU":     {func(p *profile.Part) { p.Unprofiled = 7000 }, Basis{}, Host, ""},
		"a profiler's":    {func(p *profile.Part) { p.Unprofiled, p.Wall = 0, 7000 }, Basis{}, Unknown, Slowed},
		// However much the profiler slowed it down.
		"an idle GPU by the profile":                         {func(p *profile.Part) { p.Unprofiled, p.Wall = 0, 14000 }, Basis{}, Host, ""},
		"the same at both ends":                              {func(p *profile.Part) { p.Unprofiled = 0 }, h100(t, 500), Memory, ""},
		"a part of the step":                                 {func(p *profile.Part) { p.Unprofiled = 5500 }, h100(t, 500), Unknown, Mixed},
		"requests unknown":                                   {func(p *profile.Part) { p.Requests = 0 }, h100(t, 500), Unknown, NoLimit},
		"kernels that are not shown":                         {func(p *profile.Part) { p.Categories[1].Name = "other" }, h100(t, 500), Unknown, Unseen},
		"kernels hidden in graphs":                           {func(p *profile.Part) { p.Categories[3].Name = "hidden" }, h100(t, 500), Unknown, Unseen},
		"attention that is not shown and takes next to none": {func(p *profile.Part) { p.Categories[2].Name = "other" }, h100(t, 500), Memory, ""},
		"communication": {func(p *profile.Part) {
			p.Categories = []profile.Category{{Name: "communication", Total: 1900}, {Name: "dense_gemm", Total: 1100}}
		}, Basis{}, Communication, ""},
		"a prompt": {func(p *profile.Part) {
			p.Phase, p.Tokens, p.Unprofiled, p.Busy, p.GPU, p.Wall = profile.Prefill, steps*8192, 100_000, 95_000, 95_000, 100_000
			p.Categories = []profile.Category{{Name: "dense_gemm", Total: 20_000}, {Name: "moe", Total: 60_000}, {Name: "attention", Total: 10_000}}
		}, h100(t, 0), Compute, ""},
	} {
		b := of(t, decoded(c.change), c.basis).Bound
		if b.By != c.by || b.Why != c.why {
			t.Errorf("%s: bound by %q %s: %+v", name, b.By, b.Why, b)
		}
	}
}

// TestGain compares with values calculated by hand: the experts' 938 µs of a step of
// 3,190, or of 4,030 with the profiler and 3,043 on the GPU.
func TestGain(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(p *profile.Part)
		claim       Claim
		most, least float64
	}{
		"1.5 times as fast":     {func(*profile.Part) {}, Claim{"moe": 1.5}, 312.667 / 2877.333, 312.667 / 2877.333},
		"of an unknown step":    {func(p *profile.Part) { p.Unprofiled = 0 }, Claim{"moe": 1.5}, 312.667 / 2730.333, 312.667 / 3717.333},
		"removed":               {func(*profile.Part) {}, Claim{"moe": math.Inf(1)}, 938.0 / 2252, 938.0 / 2252},
		"two":                   {func(*profile.Part) {}, Claim{"moe": 1.5, "norm_activation": 2}, 428.667 / 2761.333, 428.667 / 2761.333},
		"as fast":               {func(*profile.Part) {}, Claim{"moe": 1}, 0, 0},
		"overlapped":            {func(p *profile.Part) { p.GPU = 3243 }, Claim{"moe": 1.5}, 312.667 / 2877.333, 112.667 / 3077.333},
		"all of it overlapped":  {func(p *profile.Part) { p.GPU = 4043 }, Claim{"moe": 1.5}, 312.667 / 2877.333, 0},
		"a host that is busy":   {func(p *profile.Part) { p.Threads = []profile.Thread{{Name: "a", Total: 3000}, {Name: "b", Total: 10}} }, Claim{"moe": 1.5}, 312.667 / 2877.333, 190.0 / 3000},
		"a host that is busier": {func(p *profile.Part) { p.Threads = []profile.Thread{{Name: "a", Total: 4000}} }, Claim{"moe": 1.5}, 312.667 / 2877.333, 0},
		"bound by the host":     {func(p *profile.Part) { p.Unprofiled = 7000 }, Claim{"moe": 1.5}, 312.667 / 6687.333, 0},
	} {
		g, unknown := of(t, decoded(c.change), Basis{}).Gain(c.claim)
		near(t, name+": the most", g.Most, c.most)
		near(t, name+": the least", g.Least, c.least)
		if len(unknown) > 0 || g.Open {
			t.Errorf("%s: %v is unknown, %+v", name, unknown, g)
		}
	}
	// On a GB10 at 29.1 tok/s an output projection of 1.16 GB takes 4.2 of 34,364 µs.
	// With a quarter of the bytes it was expected to gain 30 to 45%.
	gb10 := &profile.Part{
		Phase: profile.Decode, Requests: 1, Steps: 1, Tokens: 1, Wall: 40000, Busy: 33000, GPU: 33000, Unprofiled: 34364,
		Categories: []profile.Category{{Name: "dense_gemm", Total: 33000}},
		Kernels:    []profile.Kernel{{Short: "gemvx", Category: "dense_gemm", Count: 144, Total: 28800}, {Short: "head", Category: "dense_gemm", Count: 1, Total: 4200}},
	}
	for name, c := range map[string]struct {
		claim Claim
		most  float64
	}{
		"the output projection": {Claim{"lm_head": 4}, 3150.0 / 31214},
		"all dense matrices":    {Claim{"dense_gemm": 4}, 24750.0 / 9614},
		"both":                  {Claim{"dense_gemm": 2, "lm_head": 4}, 17550.0 / 16814},
	} {
		g, unknown := of(t, gb10, Basis{}).Gain(c.claim)
		near(t, name, g.Most, c.most)
		if len(unknown) > 0 {
			t.Errorf("%s: %v is unknown", name, unknown)
		}
	}
	r := of(t, decoded(), Basis{})
	g, unknown := r.Gain(Claim{"moe": 1.5, "communication": 2, "norm_activation": 0.5, "dense_gemm": math.NaN()})
	near(t, "of what is known", g.Saved, 312.667)
	if want := []string{"communication", "dense_gemm", "norm_activation"}; !slices.Equal(unknown, want) {
		t.Errorf("%v is unknown, want %v", unknown, want)
	}
	overlapping := of(t, decoded(func(p *profile.Part) { p.Categories[1].Total = 6000; p.GPU = 8100 }), Basis{})
	if g, _ := overlapping.Gain(Claim{"moe": 4}); !g.Open {
		t.Errorf("kernels that take longer than the step are bound to %+v", g)
	}
}

// TestMissing: work that the profile does not show has to be done nevertheless.
func TestMissing(t *testing.T) {
	r := of(t, decoded(func(p *profile.Part) { p.Categories[1].Name = "other" }), h100(t, 500))
	near(t, "the limit of a step", r.Limit(), 1110.8)
	if len(r.Missing) != 1 || r.Missing[0].Category != "moe" {
		t.Errorf("%+v is missing", r.Missing)
	}
}

// TestSums: a profile without the lengths of steps still shows how far kernels are from
// their limits, but no gain.
func TestSums(t *testing.T) {
	r := of(t, decoded(func(p *profile.Part) { p.Wall, p.Busy, p.Unprofiled = 0, 0, 0 }), h100(t, 500))
	near(t, "moe of its limit", r.Rows[2].OfLimit(), 0.40386)
	if g, _ := r.Gain(Claim{"moe": 1.5}); !g.Open || g.Least != 0 || r.Rows[2].Gain != nil || r.Timed() {
		t.Errorf("a step of unknown length gains %+v, %+v", g, r.Rows[2].Gain)
	}
}

// TestNotLaidOut: what a profile does not say is not invented.
func TestNotLaidOut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *profile.Part)
		want   error
	}{
		"both phases":         {func(p *profile.Part) { p.Phase = profile.Whole }, ErrWhole},
		"no steps":            {func(p *profile.Part) { p.Steps = 0 }, ErrNoSteps},
		"no time":             {func(p *profile.Part) { p.Wall, p.Busy, p.GPU, p.Unprofiled = 0, 0, 0, 0 }, ErrTimes},
		"no kernels":          {func(p *profile.Part) { p.Busy, p.GPU = 0, 0 }, ErrTimes},
		"NaN":                 {func(p *profile.Part) { p.Busy = math.NaN() }, ErrTimes},
		"no wall":             {func(p *profile.Part) { p.Wall = 0; p.Unprofiled = 0 }, ErrTimes},
		"less than none":      {func(p *profile.Part) { p.Categories[1].Total = -1 }, ErrTimes},
		"beyond numbers":      {func(p *profile.Part) { p.Categories[1].Total, p.Categories[2].Total = 1e307, 1e308 }, ErrTimes},
		"endless":             {func(p *profile.Part) { p.Unprofiled = math.Inf(1) }, ErrTimes},
		"busier than it took": {func(p *profile.Part) { p.Busy, p.Unprofiled = 5000, 0 }, ErrTimes},
	} {
		if r, err := Of(decoded(c.change), h100(t, 0)); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// FuzzOf: an analysis is read back from files, and whatever it says, the result can be
// written again.
func FuzzOf(f *testing.F) {
	text, err := json.Marshal(decoded())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	m, err := limit.Read([]byte(gptOSS))
	if err != nil {
		f.Fatal(err)
	}
	on, err := limit.Of([]string{"NVIDIA H200"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"phase": "decode", "requests": 1, "steps": 1, "tokens": 1, "wall_us": 1e308, "busy_us": 1e308, "gpu_us": 1e308, "categories": [{"name": "moe", "us": 1e308}, {"name": "moe", "us": 1e308}]}`))
	f.Add([]byte(`{"phase": "decode", "requests": 1, "steps": 1, "tokens": 1, "wall_us": 2, "busy_us": 1, "gpu_us": 1, "categories": [{"name": "moe", "us": -1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p profile.Part
		if json.Unmarshal(text, &p) != nil {
			return
		}
		r, err := Of(&p, Basis{Model: m, Machine: on})
		if err != nil {
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if g, _ := r.Gain(Claim{"moe": 1.5, "lm_head": 2}); math.IsNaN(g.Most) || math.IsInf(g.Most, 0) || g.Most < 0 || math.IsNaN(g.Least) || g.Least < 0 || g.Saved < 0 {
			t.Errorf("%s: %+v", text, g)
		}
	})
}
