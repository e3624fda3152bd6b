package embedded

import (
	"fmt"
	"io"
	"log"
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

// write prints the Prometheus text format, version 0.0.4.
func (m *metrics) write(w io.Writer) {
	put := func(kind, name string, value any) {
		fmt.Fprintf(w, "# TYPE mxflow_embedded:%[1]s %[2]s\nmxflow_embedded:%[1]s %[3]v\n", name, kind, value)
	}
	put("counter", "prompt_tokens_total", m.promptTokens.Load())
	put("counter", "generation_tokens_total", m.generationTokens.Load())
	put("counter", "request_success_total", m.succeeded.Load())
	put("counter", "request_failure_total", m.failed.Load()) // refused, aborted or failed
	put("counter", "corrupted_requests_total", m.corrupted.Load())
	put("gauge", "num_requests_running", m.running.Load())
	put("gauge", "num_requests_waiting", m.waiting.Load())
	put("counter", "prefix_cache_queries_total", m.prefixQueries.Load())
	put("counter", "prefix_cache_hits_total", m.prefixHits.Load())
	put("counter", "num_preemptions_total", 0) // no request loses its place
	put("counter", "spec_decode_num_drafts_total", m.drafts.Load())
	put("counter", "spec_decode_num_draft_tokens_total", m.drafted.Load())
	put("counter", "spec_decode_num_accepted_tokens_total", m.accepted.Load())
	usage := 0.0
	if m.kvCapacity > 0 {
		usage = float64(m.kvTokens.Load()) / float64(m.kvCapacity)
	}
	put("gauge", "kv_cache_usage_perc", usage)
	const perPosition, queue = "mxflow_embedded:spec_decode_num_accepted_tokens_per_pos_total",
		"mxflow_embedded:request_queue_time_seconds"
	fmt.Fprintf(w, "# TYPE %s counter\n", perPosition)
	for i := range m.acceptedAt {
		fmt.Fprintf(w, "%s{position=\"%d\"} %d\n", perPosition, i, m.acceptedAt[i].Load())
	}
	waited := time.Duration(m.queueTime.Load()).Seconds()
	fmt.Fprintf(w, "# TYPE %s summary\n%[1]s_sum %[2]g\n%[1]s_count %[3]d\n", queue, waited, m.placed.Load())
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

// kernel is one that a configuration selects for a part of the model.
type kernel struct{ part, name, why string }

type kernels struct{ attention, softmax, moe, head, kvFormat, prefix, speculation kernel }

func selectKernels(c Config) kernels {
	k := kernels{
		attention: kernel{"attention", kernelDecodeCached, "kv cache on"},
		softmax:   kernel{"softmax", kernelSoftmaxSinks, "attention sinks on"},
		moe:       kernel{"moe", kernelMoERouted, "top-k experts only"},
		head:      kernel{"lm_head", kernelHeadF32, "lm_head weights in float32"},
	}
	if !c.KVCache {
		k.attention = kernel{"attention", kernelRecompute, "kv cache off, the whole prefix every step"}
	}
	if !c.Sinks {
		k.softmax = kernel{"softmax", kernelSoftmaxNoSinks, "attention sinks off"}
	}
	if !c.MoERouted {
		k.moe = kernel{"moe", kernelMoEAll, "every expert computed, then weighted"}
	}
	if !c.KVFloat32 {
		k.kvFormat = kernel{"kv_format", kernelKVInt8, "a scale for each head and token"}
	}
	if c.PrefixCache {
		k.prefix = kernel{"prefix_cache", kernelPrefixLookup, fmt.Sprintf("blocks of %d tokens", blockTokens)}
	}
	if c.Speculation > 0 {
		k.speculation = kernel{"speculation", kernelPromptLookup, fmt.Sprintf("up to %d tokens a step", c.Speculation)}
	}
	return k
}

// kernelLog writes a line when a kernel is selected and when it first runs: only the latter
// shows that it ran.
type kernelLog struct {
	*log.Logger
	engaged sync.Map
}

func (l *kernelLog) selected(k kernels) {
	for _, k := range []kernel{k.attention, k.softmax, k.moe, k.head, k.kvFormat, k.prefix, k.speculation} {
		if k.name != "" {
			l.Printf("%s: selected %s", k.part, k.name)
		}
	}
}

func (l *kernelLog) engage(k kernel) {
	if _, before := l.engaged.LoadOrStore(k.name, true); !before && k.name != "" {
		l.Printf("%s: using kernel %s (%s)", k.part, k.name, k.why)
	}
}
