# One object with the list benchmarks, as its own schema describes it (0.2 and later); times in ms.
module {tool: "llama-benchy", file: "--save-result, JSON"};
def knows: has("benchmarks") and has("latency_mode");
[["pp_throughput", "tok/s", "higher", "Prompt tokens over time to first response less the tool's measured latency, over all concurrent requests. Time to first response is the first chunk, even an empty one."],
 ["pp_req_throughput", "tok/s", "higher", "Like pp_throughput, per request."],
 ["tg_throughput", "tok/s", "higher", "Generated tokens after the first over the time from it to the last, over all concurrent requests."],
 ["tg_req_throughput", "tok/s", "higher", "Like tg_throughput, per request."],
 ["peak_throughput", "tok/s", "higher", "Maximum tokens within one second, over all concurrent requests."],
 ["peak_req_throughput", "tok/s", "higher", "Like peak_throughput, per request."],
 ["ttfr", "ms", "lower", "Time to first response: the first chunk, even an empty one."],
 ["est_ppt", "ms", "lower", "Estimated prompt processing time: time to first response less the measured latency."],
 ["e2e_ttft", "ms", "lower", "Time from the send to the first chunk with content."]] as $fields
| results | . as $file | .benchmarks | to_entries[] | .key as $i | .value | . as $b
| at("benchmarks[\($i)]"; [needed("prompt_size", "response_size", "context_size", "concurrency")]) as [$pp, $tg, $d, $c]
| (if .is_context_prefill_phase then "_context" else "" end) as $phase
| "pp\($pp)_tg\($tg)\(if $d > 0 then "_d\($d)" else "" end)_c\($c)\($phase)" as $load
| $fields[] as $field | $b[$field[0]] | select(. != null)
| {workload: $load, value: {mean, std}, values, model: $file.model, version: $file.version, date: $file.timestamp,
   what: ($b | {concurrency, context_size, prompt_size, response_size, phase: (if $phase != "" then "context prefill" else null end)}),
   notes: ["pp_throughput and est_ppt are corrected by a latency of \($file.latency_ms * 1000 | round / 1000) ms (mode \($file.latency_mode | tojson)), so they do not compare with mxflow's pp and ttft",
     "std is the population standard deviation (divisor n), over requests to one server",
     (select($d > 0 and $file.prefix_caching_enabled != true) | "pp of \($load) also counts the context's tokens, because prefix caching was off; llama-bench prefills the context separately")]}
  + metric($field)
