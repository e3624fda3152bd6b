package kinds

import "testing"

func TestForced(t *testing.T) {
	for text, forces := range map[string]bool{
		`speculative_config=SpeculativeConfig(method='eagle3', rejection_sample_method='synthetic', num_spec_tokens=3)`: true,
		`non-default args: {'speculative_config': {'rejection_sample_method': 'synthetic'}}`:                            true,
		`vllm serve m --speculative-config {"rejection_sample_method": "synthetic"}`:                                    true,
		`sh -c "vllm serve m --speculative-config '{\\"rejection_sample_method\\":\\"synthetic\\"}'"`:                   true,
		`vllm serve m --speculative-config.rejection-sample-method synthetic`:                                           true,
		`sh -c SGLANG_SIMULATE_ACC_LEN=3.5 python3 -m sglang.launch_server`:                                             true,
		"SGLANG_SIMULATE_ACC_LEN: 0.5":                    true,
		"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS='2'":  true,
		"rejection_sample_method='strict'":                false,
		"rejection_sample_method=None, synthetic_rates=0": false,
		"SGLANG_SIMULATE_ACC_LEN=-1":                      false,
		"SGLANG_SIMULATE_ACC_LEN=0":                       false,
		"synthetic prompts of 128 tokens":                 false,
	} {
		if got := ForcedBy(text); (got != "") != forces {
			t.Errorf("%s: %q", text, got)
		}
	}
	for pair, forces := range map[string]bool{
		"SGLANG_SIMULATE_ACC_LEN=3": true, "SGLANG_SIMULATE_ACC_LEN= 0.5": true, "SGLANG_SIMULATE_ACC_LEN=nan": true,
		"SGLANG_SIMULATE_ACC_LEN=full":                 true,
		"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=1": true, "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=0": false,
		"SGLANG_SIMULATE_ACC_LEN=": false, "SGLANG_SIMULATE_ACC_LEN=-1.0": false,
		"SGLANG_SIMULATE_ACC_METHOD=match": false, "": false,
	} {
		if got := ForcedIn([]string{"PATH=/bin", pair}); (got != "") != forces {
			t.Errorf("%s: %q", pair, got)
		}
	}
}
