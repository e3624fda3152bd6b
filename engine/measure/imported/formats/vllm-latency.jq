# One object: the time of each iteration of one batch, in seconds. Neither model nor sizes are in it. By the shape of vLLM of 2026, and before it wrote std_latency.
module {tool: "vLLM bench latency", file: "--output-json"};
def knows: has("avg_latency") and has("latencies") and has("percentiles");
results | {metric: "latency", unit: "s", better: "lower", definition: "Time from the call to the end of a batch, prefill and all output tokens.",
  value: ({mean: .avg_latency} + (if .std_latency then {std: .std_latency} else {} end) + (.percentiles | with_entries(.key |= "p\(.)"))), values: .latencies}
