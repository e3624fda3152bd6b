package embedded

import (
	"fmt"
	"io"
	"sync"
)

// Kernel names as they appear in the log. They are the evidence that a switch
// took effect, so no name is a part of another and none is shared by two
// choices.
const (
	kernelPrefillCached  = "prefill_attention_kvcache_f32"
	kernelDecodeCached   = "decode_attention_kvcache_f32"
	kernelRecompute      = "full_prefix_attention_recompute_f32"
	kernelMoERouted      = "moe_routed_mxfp4"
	kernelMoEAll         = "moe_all_experts_mxfp4"
	kernelHeadF32        = "lm_head_gemv_f32"
	kernelHeadMXFP4      = "lm_head_gemv_mxfp4"
	kernelSoftmaxSinks   = "softmax_sinks_f32"
	kernelSoftmaxNoSinks = "softmax_plain_f32"
	kernelPrefixLookup   = "prefix_block_lookup"
	kernelPrefixReuse    = "prefix_kv_reuse_f32"
	kernelPromptLookup   = "prompt_lookup_ngram"
	kernelVerify         = "draft_verify_batched"
)

// kernelLog writes a line when a kernel is selected and when it first runs.
type kernelLog struct {
	out     io.Writer
	mu      sync.Mutex
	engaged map[string]bool
}

func (k *kernelLog) engage(part, kernel, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.engaged[kernel] {
		return
	}
	if k.engaged == nil {
		k.engaged = map[string]bool{}
	}
	k.engaged[kernel] = true
	fmt.Fprintf(k.out, "[embedded] %s: using kernel %s (%s)\n", part, kernel, why)
}

// selected writes what the configuration asks for. Only the engage lines say
// that a kernel ran.
func (k *kernelLog) selected(c Config) {
	attention, softmax, moe, head := kernelRecompute, kernelSoftmaxNoSinks, kernelMoERouted, kernelHeadF32
	if c.KVCache {
		attention = kernelDecodeCached
	}
	if c.Sinks {
		softmax = kernelSoftmaxSinks
	}
	if c.MoE == MoEAll {
		moe = kernelMoEAll
	}
	if c.LMHead == LMHeadMXFP4 {
		head = kernelHeadMXFP4
	}
	fmt.Fprintf(k.out, "[embedded] attention: selected %s (%s=%s)\n", attention, envKVCache, onOff(c.KVCache))
	fmt.Fprintf(k.out, "[embedded] softmax: selected %s (%s=%s)\n", softmax, envSinks, onOff(c.Sinks))
	fmt.Fprintf(k.out, "[embedded] moe: selected %s (%s=%s)\n", moe, envMoE, c.MoE)
	fmt.Fprintf(k.out, "[embedded] lm_head: selected %s (%s=%s)\n", head, envLMHead, c.LMHead)
	if c.PrefixCache {
		fmt.Fprintf(k.out, "[embedded] prefix_cache: selected %s (%s=on)\n", kernelPrefixLookup, envPrefixCache)
	}
	if c.Speculation > 0 {
		fmt.Fprintf(k.out, "[embedded] speculation: selected %s (%s=%s%d)\n", kernelPromptLookup, envSpeculation, promptLookupPrefix, c.Speculation)
	}
}

func (k *kernelLog) attention(cached bool, tokens int) {
	switch {
	case !cached:
		k.engage("attention", kernelRecompute, "kv cache off, the whole prefix every step")
	case tokens > 1:
		k.engage("attention", kernelPrefillCached, "kv cache on")
	default:
		k.engage("attention", kernelDecodeCached, "kv cache on")
	}
}

func (k *kernelLog) softmax(sinks bool) {
	if sinks {
		k.engage("softmax", kernelSoftmaxSinks, "attention sinks on")
	} else {
		k.engage("softmax", kernelSoftmaxNoSinks, "attention sinks off")
	}
}

func (k *kernelLog) moe(mode string) {
	if mode == MoEAll {
		k.engage("moe", kernelMoEAll, "every expert computed, then weighted")
	} else {
		k.engage("moe", kernelMoERouted, "top-k experts only")
	}
}

func (k *kernelLog) head(format string) {
	if format == LMHeadMXFP4 {
		k.engage("lm_head", kernelHeadMXFP4, "lm_head weights in MXFP4")
	} else {
		k.engage("lm_head", kernelHeadF32, "lm_head weights in float32")
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
