# One question a line, once for each filter; the scores of a question are what metrics names.
module {tool: "lm-evaluation-harness, samples", file: "samples_*.jsonl with --log_samples"};
def knows: has("doc_id") and has("filter") and has("metrics");
[results] | group_by(.filter)[] | .[0].filter as $filter | . as $questions
| [.[].metrics[]] | unique[] as $metric
| [$questions[] | .[$metric] | if type == "boolean" then if . then 1 else 0 end else . end | select(. != null)]
| select(length > 0) | map(type == "number" or error("a question has a \($metric) that is no number")) as $numbers
| {workload: "questions", $metric, what: {$filter}, value: {mean: (add / length)}, n: length, better: (if $metric | test("^(acc|exact_match|f1|pass)") then "higher" else "" end),
   signed: true, definition: "Mean over the questions, of answers by the filter \($filter)."}
