# One entry a test: n_gen = 0 is prefill, n_prompt = 0 is decode, n_depth the context before it, which is prefilled apart
# and not timed. There is no server, no network and no sampling in it.
module {tool: "llama-bench", file: "-o json, -o jsonl"};
def knows: has("build_commit") and has("n_prompt") and has("n_gen");
results | needed("n_prompt") as $pp | needed("n_gen") as $tg | needed("n_depth") as $d
| if $pp + $tg == 0 then error("n_prompt and n_gen are both 0, so nothing was measured") else . end
| {workload: ([(select($pp > 0) | "pp\($pp)"), (select($tg > 0) | "tg\($tg)"), (select($d > 0) | "d\($d)")] | join("_")),
   metric: "ts", unit: "tok/s", better: "higher", value: {mean: .avg_ts, std: .stddev_ts}, values: .samples_ts,
   model: .model_type, version: .build_commit, date: .test_time,
   what: del(.samples_ns, .samples_ts, .avg_ns, .stddev_ns, .avg_ts, .stddev_ts, .model_type, .build_commit, .test_time),
   definition: (if $tg == 0 then "Prompt tokens over the time to process them, excluding the context before them; without server, sampling or network."
     elif $pp == 0 then "Generated tokens over the time to generate them from an empty context, or after the context of @ d; tokens are random, not sampled."
     else "Prompt and generated tokens over the total time of both." end),
   notes: "std is the sample standard deviation (divisor n − 1), over repetitions within one process"}
