package limit

import (
	"math"
	"testing"
)

// TestWork compares with values calculated by hand, for models whose sums TestParameters
// checks against published ones.
func TestWork(t *testing.T) {
	type row struct {
		category     string
		gb, gflop    float64
		microseconds float64
		waits        Resource
	}
	oss := read(t, gptOSS20B)
	h100 := Machine{GPUs: []GPU{gpus["NVIDIA H100 80GB HBM3"]}}
	for name, c := range map[string]struct {
		work []Work
		on   Machine
		want []row
	}{
		// 24 layers of 26.6 M parameters; 4 of 32 experts; an output projection of 201,088 ×
		// 2,880. Half of the layers see 128 tokens: 2 KB of cache and 64 heads × 64 × 4
		// operations for each.
		"one request": {oss.Decode(1, 1000), h100, []row{
			{Dense, 1.27844, 1.27844, 381.6, Memory},
			{MoE, 1.26904, 4.77757, 378.8, Memory},
			{Attention, 0.02772, 0.22177, 8.275, Memory},
			{Head, 1.15827, 1.15827, 345.7, Memory},
		}},
		// What a benchmark reached counts instead of the data sheet.
		// Eight tokens use 21.005 of 32 experts on average, 5.2513 times as many as one does.
		"eight requests": {oss.Decode(8, 1000), h100, []row{
			{Dense, 1.27844, 10.2275, 381.6, Memory},
			{MoE, 6.66412, 38.2206, 1989.3, Memory},
			{Attention, 0.22177, 1.77413, 66.2, Memory},
			{Head, 1.15827, 9.26614, 345.7, Memory},
		}},
	} {
		if len(c.work) != len(c.want) {
			t.Errorf("%s: %+v, want %+v", name, c.work, c.want)
			continue
		}
		for i, w := range c.work {
			want := c.want[i]
			seconds, waits := c.on.Least(w)
			if w.Category != want.category || waits != want.waits {
				t.Errorf("%s: %s waits for %s, want %s for %s", name, w.Category, waits, want.category, want.waits)
			}
			near(t, name+": GB of "+w.Category, w.Bytes/gb, want.gb)
			near(t, name+": GFLOP of "+w.Category, w.FLOPs/gb, want.gflop)
			near(t, name+": µs of "+w.Category, seconds*1e6, want.microseconds)
		}
	}
}

// TestOneCalculation: the limit of a step is the sum of its categories.
func TestOneCalculation(t *testing.T) {
	h200, err := Of([]string{"NVIDIA H200"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{llama8B, qwen30B + "}", gptOSS120B, deepSeekV3, mixtral} {
		m := read(t, text)
		for _, n := range []int{1, 8} {
			l := m.Limit(h200, n, 700)
			sum := 0.0
			for _, w := range m.Decode(n, 700) {
				sum += w.Bytes / gb
			}
			if math.Abs(l.StepGB-sum) > 1e-9*sum {
				t.Errorf("%s: a step reads %v GB, its categories %v", m.Type, l.StepGB, sum)
			}
		}
		if m.Expert.Params == 0 {
			for _, w := range m.Decode(1, 1) {
				if w.Category == MoE {
					t.Errorf("%s has no experts, and %+v", m.Type, w)
				}
			}
		}
	}
	if seconds, waits := (Machine{}).Least(Work{Bytes: 1, FLOPs: 1, Bits: whole}); seconds != 0 || waits != "" || math.IsNaN(seconds) {
		t.Errorf("no machine takes %v s, by %q", seconds, waits)
	}
}
