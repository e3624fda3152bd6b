package embedded

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// metrics counts what /metrics shows. Names follow vLLM's, with this engine's prefix. All
// are atomic, so the page can be written while the model computes.
type metrics struct {
	promptTokens, generationTokens atomic.Int64
	succeeded, failed, corrupted   atomic.Int64   // requests
	running, waiting               atomic.Int64   // requests
	placed, queueTime              atomic.Int64   // requests that got a place, and how long they waited for it, in ns
	prefixQueries, prefixHits      atomic.Int64   // tokens
	drafts, drafted, accepted      atomic.Int64   // steps with a draft, and tokens
	acceptedAt                     []atomic.Int64 // by position in the draft
	kvTokens                       atomic.Int64   // tokens of running requests in the KV cache
	kvCapacity                     int            // tokens; 0 with the cache off
}

// queued counts a request that waited so long for its place.
func (m *metrics) queued(wait time.Duration) {
	m.queueTime.Add(int64(wait))
	m.placed.Add(1)
}

// speculated counts one step's draft. accepted are the drafted tokens that became part of
// the answer: correct ones after its end do not count.
func (m *metrics) speculated(drafted, accepted int) {
	if drafted == 0 {
		return
	}
	m.drafts.Add(1)
	m.drafted.Add(int64(drafted))
	m.accepted.Add(int64(accepted))
	for i := range accepted {
		m.acceptedAt[i].Add(1)
	}
}

// kvUsage is the share of the KV cache that running requests fill, 0 to 1.
func (m *metrics) kvUsage() float64 {
	if m.kvCapacity == 0 {
		return 0
	}
	return float64(m.kvTokens.Load()) / float64(m.kvCapacity)
}

// prefixed is the prefix of every name of the page.
const prefixed = "mxflow_embedded:"

// write prints the Prometheus text format, version 0.0.4.
func (m *metrics) write(w io.Writer) {
	for _, v := range []struct {
		name, kind, help string
		value            *atomic.Int64
	}{
		{"prompt_tokens_total", "counter", "Prompt tokens of started requests.", &m.promptTokens},
		{"generation_tokens_total", "counter", "Generated tokens.", &m.generationTokens},
		{"request_success_total", "counter", "Requests answered in full.", &m.succeeded},
		{"request_failure_total", "counter", "Requests refused, aborted or failed.", &m.failed},
		{"corrupted_requests_total", "counter", "Requests with NaN in their logits.", &m.corrupted},
		{"num_requests_running", "gauge", "Requests taking turns at the model.", &m.running},
		{"num_requests_waiting", "gauge", "Requests waiting for a place.", &m.waiting},
		{"prefix_cache_queries_total", "counter", "Prompt tokens looked up in the prefix cache.", &m.prefixQueries},
		{"prefix_cache_hits_total", "counter", "Prompt tokens found in the prefix cache.", &m.prefixHits},
		{"num_preemptions_total", "counter", "Requests that lost their place to others: none ever does.", new(atomic.Int64)},
		{"spec_decode_num_drafts_total", "counter", "Steps that verified a draft.", &m.drafts},
		{"spec_decode_num_draft_tokens_total", "counter", "Drafted tokens.", &m.drafted},
		{"spec_decode_num_accepted_tokens_total", "counter", "Drafted tokens that became part of an answer.", &m.accepted},
	} {
		describe(w, v.name, v.kind, v.help)
		fmt.Fprintf(w, "%s%s %d\n", prefixed, v.name, v.value.Load())
	}
	const perPosition = "spec_decode_num_accepted_tokens_per_pos_total"
	describe(w, perPosition, "counter", "Accepted tokens by position in the draft.")
	for i := range m.acceptedAt {
		fmt.Fprintf(w, "%s%s{position=\"%d\"} %d\n", prefixed, perPosition, i, m.acceptedAt[i].Load())
	}
	describe(w, "kv_cache_usage_perc", "gauge", "Tokens of running requests over those that the KV cache has room for, 0 to 1.")
	fmt.Fprintf(w, "%skv_cache_usage_perc %g\n", prefixed, m.kvUsage())
	const queue = "request_queue_time_seconds"
	describe(w, queue, "summary", "Time that requests waited for a place.")
	fmt.Fprintf(w, "%s%s_sum %g\n%s%s_count %d\n", prefixed, queue, time.Duration(m.queueTime.Load()).Seconds(), prefixed, queue, m.placed.Load())
}

func describe(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefixed, name, help, prefixed, name, kind)
}

// Kernel names as they appear in the log. They are the evidence that a switch took
// effect, so no name contains another and no two choices share one.
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
	kernelKVInt8         = "kv_round_int8"
)

// Kernels without alternatives, as named in a profile.
const (
	kernelEmbedding = "embedding_lookup_f32"
	kernelNorm      = "rmsnorm_f32"
	kernelQKV       = "linear_qkv_f32"
	kernelRope      = "rope_kv_store_f32"
	kernelOut       = "linear_out_f32"
	kernelRouter    = "router_topk_f32"
	kernelSample    = "sampler_choose"
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

// selected logs what the configuration asks for. Only the engage lines show that a kernel
// ran.
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
	if c.KVFormat == KVInt8 {
		fmt.Fprintf(k.out, "[embedded] kv_format: selected %s (%s=%s)\n", kernelKVInt8, envKVFormat, c.KVFormat)
	}
	if c.PrefixCache {
		fmt.Fprintf(k.out, "[embedded] prefix_cache: selected %s (%s=on)\n", kernelPrefixLookup, envPrefixCache)
	}
	if c.Speculation > 0 {
		fmt.Fprintf(k.out, "[embedded] speculation: selected %s (%s=%s%d)\n", kernelPromptLookup, envSpeculation, promptLookupPrefix, c.Speculation)
	}
}

func (k *kernelLog) attention(cached bool, tokens int) (kernel string) {
	kernel, why := kernelDecodeCached, "kv cache on"
	switch {
	case !cached:
		kernel, why = kernelRecompute, "kv cache off, the whole prefix every step"
	case tokens > 1:
		kernel = kernelPrefillCached
	}
	k.engage("attention", kernel, why)
	return kernel
}

func (k *kernelLog) softmax(sinks bool) {
	if sinks {
		k.engage("softmax", kernelSoftmaxSinks, "attention sinks on")
	} else {
		k.engage("softmax", kernelSoftmaxNoSinks, "attention sinks off")
	}
}

func (k *kernelLog) moe(mode string) (kernel string) {
	kernel, why := kernelMoERouted, "top-k experts only"
	if mode == MoEAll {
		kernel, why = kernelMoEAll, "every expert computed, then weighted"
	}
	k.engage("moe", kernel, why)
	return kernel
}

func (k *kernelLog) head(format string) (kernel string) {
	kernel, why := kernelHeadF32, "lm_head weights in float32"
	if format == LMHeadMXFP4 {
		kernel, why = kernelHeadMXFP4, "lm_head weights in MXFP4"
	}
	k.engage("lm_head", kernel, why)
	return kernel
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
