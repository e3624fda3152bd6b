# One object a line, appended to the output file. Where there is no limit the rate is written as a bare Infinity, which is not JSON.
module {tool: "SGLang bench_serving", file: "--output-file, JSON lines"};
def knows: has("completed") and has("duration") and has("dataset_name") and (has("num_prompts") | not);
results | . + (.cache_report // {} | {cache_hit_rate_pct}) | serving([
 ["request_throughput", "req/s", "higher", "Answered requests, over the duration of the benchmark."],
 ["input_throughput", "tok/s", "higher", "Prompt tokens of all requests, over the duration."],
 ["output_throughput", "tok/s", "higher", "Output tokens of all requests, over the duration. The server's count, or the requested number: chats do not request usage."],
 ["total_throughput", "tok/s", "higher", "Prompt and output tokens of all requests, over the duration."],
 ["max_output_tokens_per_s", "tok/s", "higher", "Maximum tokens within one second."],
 ["max_concurrent_requests", "requests", "", "Maximum requests in flight."],
 ["cache_hit_rate_pct", "%", "", "Share of the prompt tokens that came from the server's cache, by its own count."],
 ["duration", "s", "", "From the first send to the last answer."],
 ["completed", "requests", "", "Answered requests."],
 ["concurrency", "requests", "", "Sum of the requests' times over the duration: the average in flight."],
 ["accept_length", "tokens", "higher", "Tokens per step of speculative decoding, by the server's own average."],
 ["total_input_tokens", "tokens", "", "Prompt tokens."],
 ["total_input_text_tokens", "tokens", "", "Prompt tokens of text."],
 ["total_input_vision_tokens", "tokens", "", "Prompt tokens of images."],
 ["total_output_tokens", "tokens", "", "Output tokens; see output_throughput for how they are counted."],
 ["total_output_tokens_retokenized", "tokens", "", "Output tokens, counted in the text by the tool's tokenizer."],
 ["ttft_ms", "ms", "lower", "Time from the send to the first chunk with text."],
 ["tpot_ms", "ms", "lower", "(end − first chunk) / (output tokens − 1) of each request."],
 ["itl_ms", "ms", "lower", "Gap between chunks divided by the tool's estimate of their tokens."],
 ["e2e_latency_ms", "ms", "lower", "Time from the send to the end of each request."]])
