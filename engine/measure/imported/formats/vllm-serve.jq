# One flat object; with --append-result several follow each other. Statistics are numpy's: std has divisor n, percentiles are linear (type 7).
module {tool: "vLLM bench serve", file: "--save-result, --save-detailed, --append-result"};
def knows: has("completed") and has("duration") and has("num_prompts");
serving([
 ["request_throughput", "req/s", "higher", "Answered requests, over the duration of the benchmark."],
 ["request_goodput", "req/s", "higher", "Answered requests within the limits of --goodput, over the duration."],
 ["output_throughput", "tok/s", "higher", "Output tokens of all requests, over the duration, including prefill and ramps."],
 ["total_token_throughput", "tok/s", "higher", "Prompt and output tokens of all requests, over the duration."],
 ["max_output_tokens_per_s", "tok/s", "higher", "Maximum chunks within one second, each counted as a token."],
 ["max_concurrent_requests", "requests", "", "Maximum requests in flight."],
 ["rtfx", "", "higher", "Seconds of audio over the duration."],
 ["duration", "s", "", "From the first send to the last answer."],
 ["completed", "requests", "", "Answered requests."],
 ["failed", "requests", "lower", "Failed requests."],
 ["total_input_tokens", "tokens", "", "Prompt tokens, counted by the tool's tokenizer."],
 ["total_output_tokens", "tokens", "", "Output tokens, counted by the server or the tool's tokenizer."],
 ["spec_decode_acceptance_rate", "%", "higher", "Accepted share of drafted tokens, by the server's counters."],
 ["spec_decode_acceptance_length", "tokens", "higher", "Tokens per step, including the one that is always accepted."],
 ["spec_decode_num_drafts", "count", "", "Drafts."],
 ["spec_decode_draft_tokens", "tokens", "", "Drafted tokens."],
 ["spec_decode_accepted_tokens", "tokens", "", "Accepted tokens."],
 ["ttft_ms", "ms", "lower", "Time from the send to the first chunk with a choice, which in a chat is the role chunk, without text."],
 ["tpot_ms", "ms", "lower", "(last chunk − first chunk) / (output tokens − 1) of each request."],
 ["itl_ms", "ms", "lower", "Gap between chunks, not tokens: with several tokens per chunk, as in speculative decoding, it is longer than the time per token."],
 ["e2el_ms", "ms", "lower", "Time from the send to the last chunk of each request."],
 ["client_queue_time_ms", "ms", "lower", "Time in which a request waited for its send because of max_concurrency."],
 ["e2el_including_client_queue_ms", "ms", "lower", "client_queue_time and e2el of each request."]])
