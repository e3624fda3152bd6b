# One object: a task's scores by metric and filter, "exact_match,strict-match". The filter of an answer is what differs: gsm8k_filter_flexible_extract.
module {tool: "lm-evaluation-harness", file: "results_*.json"};
# A group of tasks without a score of its own has only its names.
def knows: (.results | objects | all(.[]; type == "object") and any(.[]; any(keys[]; test("^[^,]+,"))));
results | . as $file | .results | to_entries[] | .key as $task | .value as $scores
| $scores | keys[] | capture("^(?<metric>[^,]+),(?<filter>.+)$") | select(.metric | endswith("_stderr") | not) | . as {$metric, $filter}
| {workload: $task, $metric, what: {$filter, num_fewshot: $file.configs[$task].num_fewshot}, n: ($file["n-samples"][$task].effective // $scores.sample_len // 0), signed: true,
   model: ($file.model_name // $file.config.model), version: $file.lm_eval_version,
   better: ({"true": "higher", "false": "lower"}["\($file.higher_is_better[$task][$metric])"] // if $metric | test("^(acc|exact_match|f1|pass)") then "higher" else "" end),
   definition: "The task's score, of answers by the filter \($filter).",
   value: ({mean: $scores["\($metric),\($filter)"]} + ($scores["\($metric)_stderr,\($filter)"] | if type == "number" then {stderr: .} else {} end))}
