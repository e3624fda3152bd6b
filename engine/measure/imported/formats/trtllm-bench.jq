# One object of a run of requests. Percentiles have minimum, maximum and average beside them. By the shape of TensorRT-LLM 1.x.
module {tool: "trtllm-bench", file: "--report_json"};
def knows: has("engine") and has("world_info") and has("request_info") and has("performance");
def statistics: with_entries(.key |= ({minimum: "min", maximum: "max", average: "mean"}[.] // .) | select(.value != null));
results
| {workload: "pp\(.request_info.avg_input_length)_tg\(.request_info.avg_output_length)", model: .engine.model, version: .engine.version,
   n: (.request_info.num_requests // 0), what: ((.engine | {backend, dtype, kv_cache_dtype, quantization}) + (.world_info | del(.issue_rate)) + {decoding: .decoding_stats.mode})} as $row
| ((.performance | measured([
    ["request_throughput_req_s", "req/s", "higher", "Requests over the time of all."],
    ["system_output_throughput_tok_s", "tok/s", "higher", "Output tokens, the first included, over the time of all."],
    ["system_total_throughput_tok_s", "tok/s", "higher", "Prompt and output tokens over the time of all."],
    ["output_throughput_per_user_tok_s", "tok/s", "higher", "Output tokens of a request over its time; the average."],
    ["output_throughput_per_gpu_tok_s", "tok/s", "higher", "Output tokens over the time of all and the GPUs."],
    ["total_latency_ms", "ms", "lower", "From the first request to the end of the last."],
    ["request_latency_percentiles_ms", "ms", "lower", "Time of each request."]])),
   (.streaming_metrics // {} | measured([
    ["token_output_speed_tok_s", "tok/s", "higher", "Tokens after the first over the time after it, of a request; the average."],
    ["ttft_percentiles", "ms", "lower", "Time to the first token of each request."],
    ["tpot_percentiles", "ms", "lower", "Time per output token after the first, of each request."],
    ["gen_tps_percentiles", "tok/s", "higher", "Tokens after the first over the time after it, of each request."]])),
   (.decoding_stats // {} | measured([
    ["num_draft_tokens_percentiles", "tokens", "", "Drafted tokens of each request."],
    ["num_accepted_draft_tokens_percentiles", "tokens", "", "Accepted tokens of each request."],
    ["draft_acceptance_rate_percentiles", "share", "higher", "Accepted share of the drafted tokens of each request."],
    ["acceptance_length_percentiles", "tokens", "higher", "Output tokens per step of each request."]])))
| $row + . | .value |= if type == "object" then statistics else . end
