# One object: the time of each iteration of one batch, in seconds. Neither model nor sizes are in it. By the shape of vLLM 0.10 and later.
module {tool: "vLLM bench latency", file: "--output-json"};
def knows: has("avg_latency") and has("latencies") and has("percentiles");
results | {metric: "latency", unit: "s", better: "lower", definition: "Time from the call to the end of a batch, prefill and all output tokens.",
  value: ({mean: .avg_latency} + (.percentiles | with_entries(.key |= "p\(.)"))), values: .latencies}
