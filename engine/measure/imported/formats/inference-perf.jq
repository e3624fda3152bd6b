# One object: a whole run, or a stage of it. Times in s. By the shape of 0.2 to 0.6. What no
# request has, such as images, has a speed and times of 0: it is absent.
module {tool: "inference-perf", file: "summary_ or stage_N_lifecycle_metrics.json"};
def knows: (.successes | objects | has("latency") and has("throughput")) and has("failures");
results | .load_summary as $load | .failures.count as $failed | .successes as $s
| select($s.count > 0 or error("no request was answered"))
| {workload: (if $load.requested_rate then "r\($load.requested_rate)" else "all" end), n: $s.count,
   what: ($load // {} | {requested_rate, achieved_rate, concurrency}),
   notes: [select($failed > 0) | "\($failed) requests failed; the numbers only cover the \($s.count) that were answered"]} as $row
| (($s.latency | measured([
    ["request_latency", "s", "lower", "Time from the send to the end of each request."],
    ["time_to_first_token", "s", "lower", "Time from the send to the first token."],
    ["time_per_output_token", "s", "lower", "Time after the first token over the output tokens after it, of each request."],
    ["normalized_time_per_output_token", "s", "lower", "Time of a request over its output tokens: the first token is in it."],
    ["inter_token_latency", "s", "lower", "Gap between tokens as they arrive."]])),
   ($s.throughput | measured([
    ["requests_per_sec", "req/s", "higher", "Answered requests over the time of all."],
    ["input_tokens_per_sec", "tok/s", "higher", "Prompt tokens over the time of all."],
    ["output_tokens_per_sec", "tok/s", "higher", "Output tokens over the time of all."],
    ["total_tokens_per_sec", "tok/s", "higher", "Prompt and output tokens over the time of all."],
    ["images_per_sec", "", "higher", "Images of the prompts over the time of all, per second."],
    ["videos_per_sec", "", "higher", "Videos of the prompts over the time of all, per second."],
    ["audios_per_sec", "", "higher", "Audio clips of the prompts over the time of all, per second."]])
    | select(.value != 0)),
   ($s.goodput_metrics // {} | measured([
    ["request_goodput", "req/s", "higher", "Answered requests within the limits of the configuration, over the time of all answered."],
    ["token_goodput", "tok/s", "higher", "Prompt and output tokens of the requests within the limits, over the time of all answered."],
    ["goodput_percentage", "%", "higher", "Requests within the limits, of those answered."],
    (["ttft", "tpot", "itl", "ntpot", "request_latency"][] | ["\(.)_attainment_percentage", "%", "higher", "Requests within the limit of \(.), of those answered."])])))
| select(.value | type != "object" or .max != 0) | $row + .
