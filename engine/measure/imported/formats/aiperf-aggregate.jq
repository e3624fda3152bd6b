# Several runs of AIPerf: a metric is one statistic of each, such as ttft_p99_ms, and its numbers are over runs.
# One run has no spread, and no t_critical: its std, se and interval are written as 0 and absent here.
module {tool: "AIPerf, several runs", file: "profile_export_aiperf_aggregate.json"};
def knows: (.metadata | objects | has("aggregation_type")) and has("metrics");
def better: if test("throughput|goodput") then "higher" elif test("latency|ttft|ttst|itl|tpot|_ms$|error") then "lower" else "" end;
results | (.aiperf_version // .metadata.aiperf_version) as $version | .metadata as $runs | .metrics | to_entries[] | .key as $name | .value
| {workload: "runs", $version, n: $runs.num_successful_runs, what: {confidence_level: $runs.confidence_level},
   value: (if .t_critical then del(.unit, .t_critical) else {mean, min, max} end | with_entries(select(.value != null))),
   notes: ["std, se and ci are over runs, each a number, at a confidence of \($runs.confidence_level)"],
   invalid: (if $runs.num_successful_runs < $runs.num_profile_runs then "\($runs.num_successful_runs) of \($runs.num_profile_runs) runs succeeded" else null end)}
  + profile_metric($name; .unit) + {signed: ($name | better == ""), better: ($name | better)}
