package limit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Model is the weights that a step reads, by a config.json. Norms, biases and the
// embedding lookup are left out, which are small: the sums never exceed what is read.
type Model struct {
	// Type is the architecture, as in model_type.
	Type string
	// Every token needs Dense, which are the projections of attention, dense layers,
	// shared experts and routers, and Head, the output projection. Expert is one expert
	// of every layer that has them, of which a token needs Used of Experts.
	Dense, Head, Expert Weights
	Experts, Used       int
	// Windows are the costs of layers per token of context, by how many of the latest
	// tokens they attend to; 0 is all of them.
	Windows map[int]ContextCost
}

// ContextCost is the cost per context token of a token that continues an answer or a prompt: the
// bytes of KV cache that it reads and the operations.
type ContextCost struct{ Bytes, FLOPs float64 }

// Weights are matrices: their parameters, their bytes by the config, and in the smallest
// format that an engine may convert them to when loading.
type Weights struct {
	Params, Bytes, Least float64
	// Prompt is the minimum number of parameters that a prompt token is multiplied with:
	// its output is not needed, nor the last layer's result.
	Prompt float64
}

func (w *Weights) add(params, bits float64) {
	w.Params += params
	w.Bytes += params * bits / 8
	w.Least += params * min(bits, leastBits) / 8
}

// times is so many such matrices.
func (w Weights) times(n float64) Weights {
	return Weights{n * w.Params, n * w.Bytes, n * w.Least, n * w.Prompt}
}

func (w Weights) and(o Weights) Weights {
	return Weights{w.Params + o.Params, w.Bytes + o.Bytes, w.Least + o.Least, w.Prompt + o.Prompt}
}

// bits is the width of the numbers in which they are multiplied: weights of 8 bits as
// they are; smaller ones are mostly converted to 16 first.
func (w Weights) bits() int {
	if each := 8 * w.Bytes / w.Params; each > 6 && each < 12 {
		return 8
	}
	return whole
}

// leastBits is the minimum bits of a weight: engines quantise a checkpoint to 4 bits when
// loading it, and one with fewer says so in its config.
const leastBits = 4

// config is the part of a config.json that is read.
type config struct {
	Type       string `json:"model_type"`
	Hidden     int    `json:"hidden_size"`
	Layers     int    `json:"num_hidden_layers"`
	Heads      int    `json:"num_attention_heads"`
	KVHeads    int    `json:"num_key_value_heads"`
	HeadDim    int    `json:"head_dim"`
	Inner      int    `json:"intermediate_size"`
	Vocabulary int    `json:"vocab_size"`

	LocalExperts  int   `json:"num_local_experts"`
	NumExperts    int   `json:"num_experts"`
	RoutedExperts int   `json:"n_routed_experts"`
	Used          int   `json:"num_experts_per_tok"`
	ExpertInner   int   `json:"moe_intermediate_size"`
	SharedExperts int   `json:"n_shared_experts"`
	FirstDense    int   `json:"first_k_dense_replace"`
	SparseStep    int   `json:"decoder_sparse_step"`
	LayerFreq     int   `json:"moe_layer_freq"`
	Dense         []int `json:"mlp_only_layers"`

	QueryRank int `json:"q_lora_rank"`
	KVRank    int `json:"kv_lora_rank"`
	NoPE      int `json:"qk_nope_head_dim"`
	RoPE      int `json:"qk_rope_head_dim"`
	Value     int `json:"v_head_dim"`

	Window     int             `json:"sliding_window"`
	UseWindow  *bool           `json:"use_sliding_window"`
	LayerTypes []string        `json:"layer_types"`
	Quantised  json.RawMessage `json:"quantization_config"`
}

// families are the architectures with known matrices, and their names below a layer: of the
// MLP and, with experts, of the router.
var families = map[string]struct {
	mlp, router string
	latent      bool // attention over a compressed KV cache (MLA)
}{
	"llama":       {"mlp", "", false},
	"mistral":     {"mlp", "", false},
	"qwen2":       {"mlp", "", false},
	"qwen3":       {"mlp", "", false},
	"mixtral":     {"block_sparse_moe", "block_sparse_moe.gate", false},
	"gpt_oss":     {"mlp", "mlp.router", false},
	"qwen3_moe":   {"mlp", "mlp.gate", false},
	"glm4_moe":    {"mlp", "mlp.gate", false},
	"deepseek_v3": {"mlp", "mlp.gate", true},
	"kimi_k2":     {"mlp", "mlp.gate", true},
}

// maxDimension exceeds any of a model, so no product overflows.
const maxDimension = 1 << 24

// Read parses a config.json. The error names what is unknown.
func Read(text []byte) (*Model, error) {
	var c config
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("cannot parse config.json: %w", foreign.NotJSON(text, err))
	}
	family, known := families[c.Type]
	if !known {
		return nil, fmt.Errorf("unknown model_type %q", c.Type)
	}
	m := &Model{Type: c.Type, Used: c.Used, Windows: map[int]ContextCost{}}
	c.KVHeads = cmp.Or(c.KVHeads, c.Heads)
	c.HeadDim = cmp.Or(c.HeadDim, c.Hidden/max(c.Heads, 1))
	if c.Type == "gpt_oss" || c.Type == "mixtral" {
		c.ExpertInner = c.Inner
	}
	needed := map[string]int{
		"hidden_size": c.Hidden, "num_hidden_layers": c.Layers, "num_attention_heads": c.Heads,
		"num_key_value_heads": c.KVHeads,
		"head_dim":            c.HeadDim, "intermediate_size": c.Inner, "vocab_size": c.Vocabulary,
	}
	if family.router != "" {
		m.Experts = max(c.LocalExperts, c.NumExperts, c.RoutedExperts) // each has one of them
		needed["the number of experts"], needed["num_experts_per_tok"], needed["moe_intermediate_size"] = m.Experts,
			c.Used, c.ExpertInner
	}
	if family.latent {
		needed["q_lora_rank"], needed["kv_lora_rank"], needed["qk_nope_head_dim"] = c.QueryRank, c.KVRank, c.NoPE
		needed["qk_rope_head_dim"], needed["v_head_dim"] = c.RoPE, c.Value
	}
	for name, n := range sorted.All(needed) {
		if n < 1 || n > maxDimension || name == "num_hidden_layers" && n > 1<<12 {
			return nil, fmt.Errorf("config.json: %s is %d", name, n)
		}
	}
	if family.router != "" && c.Used > m.Experts || c.SharedExperts < 0 || c.SharedExperts > maxDimension ||
		c.Window < 0 {
		return nil, errors.New("config.json: num_experts_per_tok, n_shared_experts or sliding_window is out of bounds")
	}
	format, err := formatOf(c.Quantised)
	if err != nil {
		return nil, err
	}
	for layer := range c.Layers {
		m.layer(&c, format, layer)
	}
	m.Head.add(float64(c.Hidden)*float64(c.Vocabulary), format.of("lm_head"))
	return m, nil
}

// layer adds the matrices of one layer, under their names in checkpoints.
func (m *Model) layer(c *config, format format, i int) {
	f, hidden, heads := families[c.Type], float64(c.Hidden), float64(c.Heads)
	add := func(to *Weights, name string, params float64) {
		to.add(params, format.of(fmt.Sprintf("model.layers.%d.%s", i, name)))
		if i < c.Layers-1 {
			to.Prompt += params
		}
	}
	// Each head multiplies its query with a key and accumulates a value.
	sees := func(window int, bytes, key, value float64) {
		w := m.Windows[window]
		w.Bytes += cacheBytes * bytes
		w.FLOPs += 2 * heads * (key + value)
		m.Windows[window] = w
	}
	if f.latent {
		add(&m.Dense, "self_attn.q_a_proj", hidden*float64(c.QueryRank))
		add(&m.Dense, "self_attn.q_b_proj", float64(c.QueryRank)*heads*float64(c.NoPE+c.RoPE))
		add(&m.Dense, "self_attn.kv_a_proj_with_mqa", hidden*float64(c.KVRank+c.RoPE))
		add(&m.Dense, "self_attn.kv_b_proj", float64(c.KVRank)*heads*float64(c.NoPE+c.Value))
		add(&m.Dense, "self_attn.o_proj", heads*float64(c.Value)*hidden)
		sees(0, float64(c.KVRank+c.RoPE), float64(c.NoPE+c.RoPE), float64(c.Value))
	} else {
		query, kv := heads*float64(c.HeadDim), float64(c.KVHeads)*float64(c.HeadDim)
		add(&m.Dense, "self_attn.q_proj", hidden*query)
		add(&m.Dense, "self_attn.k_proj", hidden*kv)
		add(&m.Dense, "self_attn.v_proj", hidden*kv)
		add(&m.Dense, "self_attn.o_proj", query*hidden)
		sees(c.window(i), 2*kv, float64(c.HeadDim), float64(c.HeadDim))
	}
	dense := f.router == "" || i < c.FirstDense || slices.Contains(c.Dense, i) ||
		c.SparseStep > 1 && (i+1)%c.SparseStep != 0 || c.LayerFreq > 1 && i%c.LayerFreq != 0
	if dense {
		add(&m.Dense, f.mlp+".gate_proj", 3*hidden*float64(c.Inner))
	} else {
		add(&m.Dense, f.router, hidden*float64(m.Experts))
		if c.SharedExperts > 0 {
			add(&m.Dense, f.mlp+".shared_experts.gate_proj", 3*hidden*float64(c.ExpertInner)*float64(c.SharedExperts))
		}
		add(&m.Expert, f.mlp+".experts.0.gate_proj", 3*hidden*float64(c.ExpertInner))
	}
}

// window is how many tokens a layer attends to; 0 is all.
func (c *config) window(i int) int {
	if i < len(c.LayerTypes) {
		if c.LayerTypes[i] == "sliding_attention" {
			return c.Window
		}
		return 0
	}
	if c.UseWindow != nil && !*c.UseWindow || strings.HasPrefix(c.Type, "qwen") && c.UseWindow == nil {
		return 0
	}
	if c.Type == "gpt_oss" && i%2 == 1 {
		return 0
	}
	return c.Window
}

// cacheBytes is the size of a number in the KV cache: 16 bits, unless an engine is
// configured otherwise.
const cacheBytes = 2
