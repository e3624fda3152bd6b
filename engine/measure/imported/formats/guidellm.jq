# One object with the list benchmarks, each a rate or a number of streams. Numbers are of answered requests; by the shapes of 0.3 to 0.7.
# A time that no request has, such as to the first token without streaming, is 0 for each: it is absent.
module {tool: "GuideLLM", file: "benchmarks.json"};
def knows: has("benchmarks") and (has("latency_mode") | not) and (.benchmarks | arrays | any(.[]; .metrics | objects | has("requests_per_second")));
def statistics: {mean, median, std: .std_dev, min, max} + (.percentiles // {} | with_entries(.key |= ({p001: "p0.1", p01: "p1", p05: "p5", p999: "p99.9"}[.] // .))) | with_entries(select(.value != null));
results | . as $file | .benchmarks[] | . as $b
| (.config.strategy // .args.strategy // .args // {}) as $strategy
| ($strategy.streams // $strategy.max_concurrency) as $c
| ("\($strategy.type_ // "benchmark")" + if $strategy.rate then "_r\($strategy.rate)" else "" end + if $c then "_c\($c)" else "" end) as $load
| .metrics | . as $metrics | [
    ["requests_per_second", "req/s", "higher", "Answered requests per second."],
    ["request_concurrency", "requests", "", "Requests in flight."],
    ["request_latency", "s", "lower", "Time from the send to the end of each request."],
    ["time_to_first_token_ms", "ms", "lower", "Time from the send to the first token."],
    ["time_to_first_output_token_ms", "ms", "lower", "Time from the send to the first token of the answer, reasoning excluded."],
    ["time_per_output_token_ms", "ms", "lower", "Time of a request over its output tokens, each of which counts: the first token is in it."],
    ["inter_token_latency_ms", "ms", "lower", "(last token − first token) / (output tokens − 1) of a request, once for each token: what others call TPOT."],
    ["prompt_tokens_per_second", "tok/s", "higher", "Prompt tokens per second."],
    ["output_tokens_per_second", "tok/s", "higher", "Output tokens per second, over all requests."],
    ["tokens_per_second", "tok/s", "higher", "Prompt and output tokens per second."],
    ["prompt_token_count", "tokens", "", "Tokens of each prompt."], ["output_token_count", "tokens", "", "Tokens of each answer."],
    ["total_token_count", "tokens", "", "Tokens of each prompt and its answer."],
    ["request_streaming_iterations_count", "count", "", "Chunks of each answer."],
    ["output_tokens_per_iteration", "tokens", "higher", "Tokens of each chunk."],
    ["iter_tokens_per_iteration", "tokens", "higher", "Tokens of each chunk after the first."]][] as $field
| $metrics[$field[0]].successful | select(. != null and .count > 0 and .max != 0)
| {workload: $load, value: statistics, n: .count, version: $file.metadata.guidellm_version,
   model: ($file.config.spec.backend.model // $file.args.model // $b.config.backend.model), what: ($strategy | {type_, rate, streams, max_concurrency}),
   notes: [($metrics.request_totals // {} | select(.errored > 0 or .incomplete > 0)
     | "\($load): \(.errored) requests failed and \(.incomplete) were cut off; the numbers only cover the \(.successful) that were answered")]} + metric($field)
