package limit

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// The parts of published models' config.json that are read here.
const (
	// huggingface.co/meta-llama/Llama-3.1-8B
	llama8B = `{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
		"intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16"}`
	// huggingface.co/Qwen/Qwen3-30B-A3B
	qwen30B = `{"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4,
		"head_dim": 128, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
		"decoder_sparse_step": 1, "mlp_only_layers": [], "use_sliding_window": false, "sliding_window": null, "vocab_size": 151936`
	// huggingface.co/openai/gpt-oss-120b and gpt-oss-20b
	gptOSS = `"model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
		"intermediate_size": 2880, "num_experts_per_tok": 4, "experts_per_token": 4, "sliding_window": 128, "vocab_size": 201088,
		"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}`
	gptOSS120B = `{"num_hidden_layers": 36, "num_local_experts": 128, ` + gptOSS + `}`
	gptOSS20B  = `{"num_hidden_layers": 24, "num_local_experts": 32, ` + gptOSS + `}`
	// huggingface.co/deepseek-ai/DeepSeek-V3
	deepSeekV3 = `{"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
		"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "intermediate_size": 18432,
		"moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
		"moe_layer_freq": 1, "vocab_size": 129280, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}`
	// huggingface.co/mistralai/Mixtral-8x7B-v0.1
	mixtral = `{"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
		"intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": null, "vocab_size": 32000}`
)

func read(t *testing.T, text string) *Model {
	t.Helper()
	m, err := Read([]byte(text))
	must.Do(t, err)
	return m
}

// TestParameters compares what is read from a config with the published totals: all parameters except the
// embedding lookup, and those of one token. The sums were made by hand.
func TestParameters(t *testing.T) {
	for name, c := range map[string]struct {
		config      string
		all, active float64
		// step are the bytes of one token's weights, cache those of 1,000 tokens.
		step, cache float64
	}{
		// 8,030,261,248 minus 525,336,576 of embeddings; norms are left out.
		"Llama-3.1-8B": {llama8B, 7_504_658_432, 7_504_658_432, 15_009_316_864, 131_072_000},
		// 30.5B and 3.3B.
		"Qwen3-30B-A3B": {qwen30B + "}", 30_220_746_752, 3_041_656_832, 6_083_313_664, 98_304_000},
		// Its model card: 116.83B and 5.13B. 18 of 36 layers see 128 tokens only.
		"gpt-oss-120b": {
			gptOSS120B, 116_209_704_960, 5_131_100_160, 2*1_547_919_360 + 3_583_180_800*4.25/8,
			36_864*1000 + 36_864*128,
		},
		// 20.91B and 3.61B.
		"gpt-oss-20b": {
			gptOSS20B, 20_328_652_800, 3_607_142_400, 2*1_218_355_200 + 2_388_787_200*4.25/8,
			24_576*1000 + 24_576*128,
		},
		// 671B and 37B; 70,272 bytes of cache per token. All but the output projection
		// has 8 bits here: the config does not say that routers have 16.
		"DeepSeek-V3": {deepSeekV3, 670_098_718_720, 36_624_596_992, 36_624_596_992 + 926_679_040, 70_272_000},
		// 46,702,792,704 minus 131,072,000 of embeddings and 266,240 of norms; 12.9B.
		"Mixtral-8x7B": {mixtral, 46_571_454_464, 12_748_587_008, 25_497_174_016, 131_072_000},
	} {
		m := read(t, c.config)
		every := m.Dense.and(m.Head)
		all := every.and(m.Expert.times(float64(m.Experts))).Params
		token := every.and(m.Expert.times(float64(m.Used)))
		active, step := token.Params, token.Bytes
		if all != c.all || active != c.active || math.Abs(step-c.step) > 1 || cacheOf(m) != c.cache {
			t.Errorf(
				"%s: %.0f parameters, %.0f of a token in %.0f bytes, %.0f bytes of cache; want %.0f, %.0f, %.0f, %.0f",
				name, all, active, step, cacheOf(m), c.all, c.active, c.step, c.cache)
		}
	}
}

func cacheOf(m *Model) float64 {
	for _, w := range m.Decode(1, 1000) {
		if w.Category == Attention {
			return w.Bytes
		}
	}
	return 0
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		quantised string
		// bits of a matrix of attention, of an expert and of the output projection; 0 is an unknown format.
		attention, expert, head float64
	}{
		{`null`, 16, 16, 16},
		{`{"quant_method": "fp8", "modules_to_not_convert": ["self_attn"]}`, 16, 8, 16},
		{`{"quant_method": "awq", "bits": 4, "group_size": 128}`, 4 + 20.0/128, 4 + 20.0/128, 16},
		{`{"quant_method": "gptq", "bits": 8, "group_size": -1}`, 8, 8, 16},
		{`{"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"-:x": {}}}`, 0, 0, 0},
		{`{"quant_method": "mxfp4"}`, 16, 4.25, 16},
		{
			`{"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.0.self_attn*"]}`,
			16,
			4.5, 16,
		},
		{
			`{"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*"], "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "group_size": 128}}}}`, 16, 4.125, 16,
		},
		{
			`{"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}}}}`, 4.5, 4.5, 4.5,
		},
		{
			`{"quant_method": "compressed-tensors", "config_groups": {"a": {"targets": ["Linear"], "weights": {"num_bits": 8}}, "b": {"targets": ["re:x"], "weights": {"num_bits": 4}}}}`, 0, 0, 0,
		},
		{
			`{"quant_method": "compressed-tensors", "ignore": ["re:("], "config_groups": {"a": {"targets": ["Linear"], "weights": {"num_bits": 8}}}}`, 0, 0, 0,
		},
		{`{"quant_method": "bitsandbytes", "load_in_4bit": true}`, 4, 4, 16},
		{`{"quant_method": "exl3", "bits": 2.5}`, 0, 0, 0},
		{`{"quant_method": "quip"}`, 0, 0, 0},
		{`[]`, 0, 0, 0},
	} {
		f, err := formatOf([]byte(c.quantised))
		if c.attention == 0 {
			if err == nil {
				t.Errorf("%s is taken for %v", c.quantised, f)
			}
			continue
		}
		attention, expert, head := f.of("model.layers.0.self_attn.q_proj"),
			f.of("model.layers.0.mlp.experts.0.gate_proj"), f.of("lm_head")
		if err != nil || attention != c.attention || expert != c.expert || head != c.head {
			t.Errorf("%s: %v, %v and %v bits, %v", c.quantised, attention, expert, head, err)
		}
	}
}

// TestUnknown: an unknown value is not guessed.
func TestUnknown(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `null`, `{"model_type": "mamba"}`, `{"model_type": "llama"}`,
		`{"model_type": "llama", "hidden_size": 99999999999, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 1, "vocab_size": 1}`,
		`{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 9000000, "num_attention_heads": 32, "intermediate_size": 1, "vocab_size": 1}`,
		// fewer than a token uses
		`{"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 2, ` + gptOSS + `}`,
		qwen30B + `, "quantization_config": {"quant_method": "quip"}}`,
	} {
		if m, err := Read([]byte(text)); err == nil {
			t.Errorf("%s is taken for %+v", text, m)
		}
	}
	if _, err := Of([]string{"NVIDIA H200", "NVIDIA H2000"}); err == nil {
		t.Error("an unknown GPU has a data sheet")
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 2e-3*want {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// TestLimit compares with values calculated by hand.
func TestLimit(t *testing.T) {
	on := func(names ...string) Machine {
		m, err := Of(names)
		must.Do(t, err)
		return m
	}
	// 15.009 GB of weights and 131 KB for each of 1,000 tokens, at 4,800 GB/s.
	one := read(t, llama8B).Limit(on("NVIDIA H200"), 1, 1000)
	near(t, "a step of Llama-3.1-8B", one.StepGB, 15.1404)
	// 4 bits per weight minus 0.12 GB on the chip: 3.632 GB, at 5,760 GB/s.
	near(t, "the least of it", one.LeastGB, 3.6323)
	near(t, "its most steps", one.MostSteps(), 1585.8)
	// Two operations for the parameters of 31 layers: 13.522 GFLOP.
	near(t, "a token of a prompt", one.PromptGFLOP, 13.5224)
	near(t, "its most tokens of prompts", one.MostPrompt(), 1.2*1978.9e3/13.5224)
	if one.TFLOPs != 989.4 || one.Bits != 16 {
		t.Errorf("weights of 16 bits are multiplied at %v TFLOP/s (%d bits)", one.TFLOPs, one.Bits)
	}
	// Eight requests read the weights once, and eight caches.
	near(t, "a step of eight requests", read(t, llama8B).Limit(on("NVIDIA H200"), 8, 1000).StepGB, 15.0093+8*0.131072)
	// The bandwidth of two GPUs adds up.
	two := read(t, llama8B).Limit(on("NVIDIA H200", "NVIDIA H200"), 1, 0)
	near(t, "the steps of two GPUs", two.BandwidthGBs/two.StepGB, 2*4800/15.0093)
	if two.Machine != "2 × NVIDIA H200" {
		t.Errorf("it is called %q", two.Machine)
	}

	// 4.9994 GB on a GB10: 54.6 steps per second. Attention and output projection at 4
	// bits as well are 0.774 GB, experts stay at 4 bits: 2.5656 GB minus 0.05 GB.
	oss := read(t, gptOSS120B).Limit(on("NVIDIA GB10"), 1, 0)
	near(t, "the steps of gpt-oss-120b", oss.BandwidthGBs/oss.StepGB, 54.607)
	near(t, "the least of its bytes", oss.LeastGB, 2.5156)
	// Sixteen tokens use 50.98 of 128 experts on average, and four at least.
	many := read(t, gptOSS120B).Limit(on("NVIDIA GB10"), 16, 0)
	near(t, "a step of 16 requests", many.StepGB, 3.09584+50.98*895_795_200*4.25/8/1e9)
	near(t, "the least of it", many.LeastGB, oss.LeastGB)

	// Weights that fit into caches are not bound by memory.
	tiny := read(t,
		`{"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512, "vocab_size": 1024}`)
	if l := tiny.Limit(on("NVIDIA H200"), 1, 0); l.LeastGB != 0 || l.MostSteps() != 0 {
		t.Errorf("a model of 5 MB is bound to %v steps", l.MostSteps())
	}
	if l := read(t, deepSeekV3).Limit(on("NVIDIA H200"), 1, 0); l.Bits != 8 || l.TFLOPs != 1978.9 {
		t.Errorf("weights of 8 bits are multiplied at %v TFLOP/s (%d bits)", l.TFLOPs, l.Bits)
	}
	if l := read(t, llama8B).Limit(Machine{}, 1, 0); l != nil {
		t.Errorf("no GPU allows %v", l)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{llama8B, qwen30B + "}", gptOSS120B, deepSeekV3, mixtral} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Read(text)
		if err != nil {
			return
		}
		l := m.Limit(Machine{GPUs: []GPU{gpus["NVIDIA H200"]}}, 4, 100)
		if l == nil {
			return
		}
		for _, x := range []float64{l.StepGB, l.LeastGB, l.PromptGFLOP, l.MostSteps(), l.MostPrompt()} {
			if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
				t.Errorf("%s: %+v", text, l)
			}
		}
	})
}

// A launch keeps its basis, and replay must arrive at the same limit.
func TestBasisIsKept(t *testing.T) {
	m := read(t, gptOSS20B)
	was := Basis{Model: m, Source: "config.json", GPUs: map[string]string{"GPU-1": "NVIDIA H100 80GB HBM3"}}
	kept, err := json.Marshal(was)
	must.Do(t, err)
	var is Basis
	must.Do(t, json.Unmarshal(kept, &is))
	if !reflect.DeepEqual(was, is) {
		t.Errorf("kept: %+v, was %+v", is.Model, was.Model)
	}
	if a, b := was.Model.Decode(8, 1200), is.Model.Decode(8, 1200); !reflect.DeepEqual(a, b) || a == nil {
		t.Errorf("work of a step: %+v, was %+v", b, a)
	}
}

// TestWork compares with values calculated by hand, for models whose sums TestParameters
// checks against published ones.
func TestWork(t *testing.T) {
	type row struct {
		category                string
		gb, gflop, microseconds float64
		waits                   Resource
	}
	oss := read(t, gptOSS20B)
	h100 := Machine{GPUs: []GPU{gpus["NVIDIA H100 80GB HBM3"]}}
	for name, c := range map[string]struct {
		work []Work
		on   Machine
		want []row
	}{
		// 24 layers of 26.6 M parameters; 4 of 32 experts; an output projection of 201,088 × 2,880. Half of the
		// layers see 128 tokens: 2 KB of cache and 64 heads × 64 × 4 operations for each.
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
	if seconds, waits := (Machine{}).Least(Work{Bytes: 1, FLOPs: 1, Bits: whole}); seconds != 0 || waits != "" ||
		math.IsNaN(seconds) {
		t.Errorf("no machine takes %v s, by %q", seconds, waits)
	}
}
