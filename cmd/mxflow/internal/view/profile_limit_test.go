package view

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/internal/testing/must"
)

const (
	config = `{"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32, "hidden_size": 2880, "num_attention_heads": 64,
 "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "num_experts_per_tok": 4, "sliding_window": 128, "vocab_size": 201088,
 "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}}`
	step = `{"phase": "decode", "requests": 1, "gpus": 1, "steps": 11, "tokens": 11, "wall_us": 44330, "busy_us": 33473, "gpu_us": 33473, "unprofiled_step_us": 3190,`
	// named is a profile of vLLM on an H100, counted by hand.
	named = step + `
  "categories": [{"name": "dense_gemm", "count": 275, "us": 13376}, {"name": "moe", "count": 528, "us": 10318}, {"name": "attention", "count": 264, "us": 4048}, {"name": "norm_activation", "count": 264, "us": 5731}],
  "kernels": [{"name": "marlin_moe", "short": "marlin_moe", "category": "moe", "count": 528, "us": 10318}, {"name": "nvjet_qkv", "short": "nvjet_qkv", "category": "dense_gemm", "count": 264, "us": 8899},
   {"name": "norm", "short": "norm", "category": "norm_activation", "count": 264, "us": 5731}, {"name": "nvjet_head", "short": "nvjet_head", "category": "dense_gemm", "count": 11, "us": 4477},
   {"name": "flash", "short": "flash", "category": "attention", "count": 264, "us": 4048}]}`
)

// TestLimit: how far each category is from its limit, what a step gains where it is brought
// there, and what bounds the step.
func TestLimit(t *testing.T) {
	model, err := limit.Read([]byte(config))
	must.Do(t, err)
	machine, err := limit.Of([]string{"NVIDIA H100 80GB HBM3"})
	must.Do(t, err)
	for profile, want := range map[string][]string{
		named: {
			`^gpt_oss on 1 × NVIDIA H100 80GB HBM3, 3,350 GB/s \(data sheet\), 500 tokens of context$`,
			`^dense GEMM +809\.0 +381\.6 +47% +\+15% +memory$`,
			`^lm_head +407\.0 +345\.8 +85% +\+2\.0% +memory$`,
			`^MoE +938\.0 +378\.8 +40% +\+21% +memory$`,
			`^attention +368\.0 +4\.6 +1\.3% +\+13% +memory$`,
			`^norm, activation +521\.0$`, `^no GPU busy +147\.0$`, `^step +3190\.0 +1110\.8 +35%$`,
			`^Decode is bound by memory bandwidth: kernels limited by it take 79% of a step and reach 44% of it\.$`,
			`output projection \(lm_head\) is taken to be nvjet_head,`,
		},
		strings.Replace(named, `"moe"`, `"other"`, 2): {
			`^Cannot tell what bounds decode: the profile does not show all kernels that the model needs \(moe\)\.$`,
		},
	} {
		var p trace.Part
		must.Do(t, json.Unmarshal([]byte(profile), &p))
		var out strings.Builder
		printLimit(table.Screen{Writer: &out}, &p, trace.Basis{Model: model, Machine: machine, Context: 500})
		for _, line := range want {
			if !regexp.MustCompile("(?m)" + line).MatchString(out.String()) {
				t.Errorf("%s is not in\n%s", line, out.String())
			}
		}
	}
}
