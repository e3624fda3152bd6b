# One object a line, of one batch: bench_one_batch without a server, bench_one_batch_server with one. Times in s. By the shape of
# SGLang of 2026. What the server did not say of itself is −1, and with one output token no time is left to generate in.
module {tool: "SGLang bench_one_batch", file: "--result-filename, JSON lines"};
def knows: has("batch_size") and has("input_len") and has("output_len") and has("overall_throughput");
results | [needed("batch_size", "input_len", "output_len")] as [$b, $pp, $tg]
| {workload: "b\($b)_pp\($pp)_tg\($tg)", model: (.model_path // .model), what: {run_name, device, dtype, batch_size, input_len, output_len}}
  + (del((.acc_length, .last_gen_throughput) | select(. == -1)) | if .output_len == 1 then del(.output_throughput) else . end | measured([
    ["prefill_latency", "s", "lower", "Time of the prefill of the batch."],
    ["prefill_throughput", "tok/s", "higher", "Prompt tokens of the batch over prefill_latency."],
    ["median_decode_latency", "s", "lower", "Median time of a decode step of the whole batch."],
    ["median_decode_throughput", "tok/s", "higher", "Batch size over median_decode_latency."],
    ["total_latency", "s", "lower", "Prefill and all decode steps."],
    ["latency", "s", "lower", "From the request to the end of the batch."],
    ["ttft", "s", "lower", "From the request to the first token."], ["last_ttft", "s", "lower", "From the request to the first token of the last sequence."],
    ["input_throughput", "tok/s", "higher", "Prompt tokens of the batch over the time to the first token."],
    ["output_throughput", "tok/s", "higher", "Output tokens of the batch over the time after the first token."],
    ["overall_throughput", "tok/s", "higher", "Prompt and output tokens of the batch over the whole time."],
    ["last_gen_throughput", "tok/s", "higher", "The server's own measure of its last decode steps."],
    ["steady_state_output_throughput", "tok/s", "higher", "Output tokens over the time in which every sequence of the batch was generated."],
    ["steady_state_window_s", "s", "", "The time of steady_state_output_throughput."],
    ["total_output_tokens", "tokens", "", "Output tokens of the batch."], ["num_early_stopped", "requests", "", "Sequences that ended before output_len."],
    ["cache_hit_rate", "share", "", "Share of the prompt tokens that came from the server's cache, by its counters."],
    ["acc_length", "tokens", "higher", "Tokens per step of speculative decoding."]]))
