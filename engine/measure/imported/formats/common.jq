# What every program may use, and what becomes of the rows that it makes.

# The results in a file: the elements of a list, several one after another, or one.
def results: if type == "array" then .[] else . end;

def kind: {string: "a text", boolean: "true or false", array: "a list", object: "an object", number: "a number", "null": "nothing"}[type];

def problem($signed):
  if . == null then "it is missing"
  elif type != "number" then "it is \(kind), not a number"
  elif isnan or isinfinite then "it is not finite"
  elif . < 0 and ($signed | not) then "\(.) is negative, which times, speeds and counts cannot be: the file was edited or is damaged, or a correction subtracted too much"
  else empty end;

# A member that has to be a size or a count.
def needed($name): .[$name] | first(problem(false) | error("\($name): \(.)")), .;

# A part of a file, whose errors begin with the part's place.
def at($place; f): try f catch error("\($place).\(.)");

# What a tool means by one of its names, as part of a row.
def metric($field): $field as [$metric, $unit, $better, $definition] | {$metric, $unit, $better, $definition};

# Rows of an object's members, each a number or several, in the order of the fields; null is absent.
def measured($fields): . as $object | $fields[] | . as $field | $object[$field[0]] | select(. != null) | {value: .} + metric($field);

# How a file marks itself as no result; empty if it does not.
def marked: first(.[] | results | ., .[]? | objects |
  if .submission_valid == false then "the tool marks it as no valid submission"
  elif .runtime_submission_invalid_reasons | type == "array" and length > 0 then "the tool marks it as no valid submission (\(.runtime_submission_invalid_reasons | map(tostring) | join(", ")))"
  elif .was_cancelled == true or .cancelled == true then "the run was cancelled: its numbers cover the time until then"
  elif .aborted == true then "the run was aborted"
  elif .incomplete == true or .complete == false then "the run is incomplete"
  else empty end);

# vLLM's and SGLang's flat results. What has no basis (no answer, no second token) they write as zero, which would meet
# any limit: it is absent, but for counts, and so is the spread of one request. A time has several numbers: mean_ttft_ms, p99_ttft_ms.
def serving($fields):
  results | . as $r | needed("completed") as $completed
  | [to_entries[] | select(.value != null) | .value as $v | .key
      | capture("^(?<stat>mean|median|std|min|max|p[0-9.]+)_(?<name>.+_ms)$") | .value = $v] as $times
  | ("r\(.request_rate // "inf")" + if .max_concurrency then "_c\(.max_concurrency)" else "" end) as $load
  | {workload: $load, model: (.model_id // .server_info.model_path), date,
     what: (. as $r | ["backend", "endpoint_type", "dataset_name", "num_prompts", "request_rate", "burstiness", "max_concurrency", "input_len", "output_len",
       "random_input_len", "random_output_len", "random_range_ratio", "sharegpt_output_len", "label", "ramp_up_strategy"] | map({key: ., value: $r[.]}) | from_entries),
     notes: ["std is the population standard deviation (divisor n) and percentiles are interpolated linearly, over requests to one server",
       (select(.num_prompts != null and .num_prompts > $completed) | "\($load): \($completed) of \(.num_prompts) requests were answered; the numbers only cover these"),
       (select(.total_output_tokens_retokenized != null and .total_output_tokens_retokenized < 0.9 * .total_output_tokens)
         | "\($load): the file counts \(.total_output_tokens) output tokens, but the text has \(.total_output_tokens_retokenized): the tool probably counted the requested length")]} as $row
  | $fields[] | . as $field | .[0] as $name
  | [if $r[$name] != null then {key: "value", value: $r[$name]} else $times[] | select(.name == $name) | {key: .stat, value} end]
  | select(length > 0 and (any(.[]; .value != 0) or ($name | test("^(duration|completed|failed|max_concurrent_requests|total_(in|out)put_tokens.*|spec_decode_.*|cache_hit_rate_pct)$"))))
  | $row + metric($field) + {value: (from_entries | if $completed == 1 and .std == 0 then del(.std) else . end)};

def units: ["", "tok/s", "req/s", "tokens/sec/user", "requests", "tokens", "count", "questions", "share", "%", "ms", "s", "tok/J", "J", "W", "GB", "MHz", "°C"];

# AIPerf's and GenAI-Perf's names. Its words for units are mxflow's where they mean the same, and a unit that mxflow does
# not know is said in the definition.
def profile_fields: [
 ["time_to_first_token", "ms", "lower", "Time from the send to the first chunk with content, reasoning included."],
 ["time_to_first_output_token", "ms", "lower", "Time from the send to the first chunk of the answer, reasoning excluded."],
 ["time_to_second_token", "ms", "lower", "Gap between the first and the second chunk."],
 ["inter_token_latency", "ms", "lower", "(request latency − time to first token) / (output tokens − 1): what vLLM calls TPOT."],
 ["inter_chunk_latency", "ms", "lower", "Gap between chunks: what vLLM calls ITL."],
 ["request_latency", "ms", "lower", "Time from the send to the last chunk."],
 ["request_throughput", "req/s", "higher", "Answered requests, over the duration of the benchmark."],
 ["output_token_throughput", "tok/s", "higher", "Output tokens of all requests, over the duration of the benchmark."],
 ["output_token_throughput_per_user", "tok/s", "higher", "1 / inter_token_latency of each request."],
 ["total_token_throughput", "tok/s", "higher", "Prompt and output tokens of all requests, over the duration."],
 ["goodput", "req/s", "higher", "Requests within the declared limits, over the duration."],
 ["benchmark_duration", "s", "", "Time of the measured phase."],
 ["request_count", "requests", "", "Answered requests."],
 ["error_request_count", "requests", "lower", "Failed requests."],
 ["output_sequence_length", "tokens", "", "Tokens of each answer, reasoning included."],
 ["output_token_count", "tokens", "", "Tokens of each answer, reasoning excluded."],
 ["input_sequence_length", "tokens", "", "Tokens of each prompt."]];

def profile_metric($name; $unit):
  ({"requests/sec": "req/s", "tokens/sec": "tok/s", sec: "s", seconds: "s"}[$unit] // $unit) as $ours
  | first((profile_fields[] | select(.[0] == $name) | metric(.) + {unit: $ours}),
      {metric: $name, unit: $ours, signed: true, definition: "Defined by the tool; unknown to mxflow."})
  | if IN(.unit; units[]) then . else .definition += " In \(.unit)." | .unit = "" end;

def profile_export: . as $file
  | (.run_info // {} | {run_label, variation_label, random_seed}) as $run
  | (.input_config // {}) as $config
  | to_entries[] | select(.value | type == "object" and has("unit")) | .key as $name | .value
  | (del(.unit, .sum, .count) | with_entries(select(.value != null) | if .key == "avg" then .key = "mean" else . end)) as $stats | select($stats != {})
  | {workload: ($run.variation_label // "all"), value: $stats, n: (.count // 0),
     model: first($config.models.items[]?.name, $config.endpoint.model_names[]?, ($config.model | arrays | .[0]), ($config.model | strings), null),
     what: ($run + ([$config, ($config.loadgen | objects), ($config.phases[]? | select(.name == "profiling")) | {concurrency, request_rate}
       | with_entries(select(.value != null))] | add)),
     notes: [[$file.error_summary[]?.count] | add // 0 | select(. > 0) | "\(.) requests failed: the numbers cover only those that were answered"]}
    + profile_metric($name; .unit);

# From here on: what becomes of rows.

def word: gsub("[^a-zA-Z0-9_]"; "_") | if test("^([0-9]|$)") then "c" + . else . end;

def unique_words: reduce (.[] | word) as $w ({taken: {}, next: {}, out: []};
  first(.taken as $taken | range(.next[$w] // 1; infinite) | {n: ., name: (if . == 1 then $w else "\($w)_\(.)" end)} | select($taken[.name] | not)) as $free
  | .taken[$free.name] = true | .next[$w] = $free.n + 1 | .out += [$free.name]) | .out;

def place($value; $address): (length > 1) as $several | [paths(. == $value)]
  | if length == 1 then first | (if $several then "result \(.[0] + 1)" else "" end) + (.[1:] | map(if type == "number" then "[\(.)]" else ".\(.)" end) | join(""))
      | ltrimstr(".") else $address end;

def number($docs; $row; $stat): . as $v
  | first(problem($row.signed) | error(($docs | place($v; "\($row.workload).\($row.metric).\($stat)")) + ": " + .)), $v;

def columns: ["workload", "metric", "value", "unit", "better", "definition", "what", "notes", "invalid", "n", "values", "signed", "tool", "model", "version", "date"];

def checked($docs; $i):
  "row \($i + 1) of the jq program" as $here
  | if type != "object" then error("\($here) is \(kind), not an object") else . end
  | if keys - columns != [] then error("\($here) has \(keys - columns | join(", ")); a row has \(columns | join(", "))") else . end
  | if (.metric | type) != "string" or .metric == "" then error("\($here) has no metric") else . end
  | if IN((.unit // ""); units[]) | not then error("\(.metric) has the unit \(.unit | tojson), which is none of \(units[1:] | join(", "))") else . end
  | if IN(.better // ""; "", "higher", "lower") | not then error("\(.metric) is better \(.better | tojson), which is neither higher nor lower") else . end
  | .workload = (.workload // "all" | tostring) | . as $row
  | first(({what: "object", n: "number", definition: "string", invalid: "string"} | to_entries[]) as {$key, $value}
      | select($row[$key] != null and ($row[$key] | type) != $value) | error("\(.metric): \($key) is \($row[$key] | kind)")), .
  | if .value == {} then error("\(.metric) has no number") else . end
  | .i = $i | .notes = [.notes // [] | if type == "array" then .[] else . end] | .better //= "" | .unit //= ""
  | .what = (.what // {} | with_entries(select(.value | IN(null, "") or type == "array" or type == "object" | not) | .value |= tostring))
  | .value |= if type == "object" then with_entries(.key as $k | .value |= number($docs; $row; $k)) else {value: number($docs; $row; "value")} end
  | .values = [.values // [] | if type == "array" then .[] else error("\($row.metric).values: it is \(kind), not a list") end]
  | .values |= [to_entries[] | .key as $k | .value | number($docs; $row; "values[\($k)]")]
  # One value has no spread: tools write 0.
  | if ([.n // 0, (.values | length)] | max) == 1 then del(.value.std) else . end;

def cell($model; $version): {workload: .[0].workload,
  what: (.[0].what + (.[0] | [(select($model == null and .model != null) | {model}), (select($version == null and .version != null) | {version})] | add // {})),
  metrics: [(map(.metric) | unique_words) as $names | to_entries[] | .key as $i | .value
    | {name: $names[$i], unit, better, definition: (.definition // "Defined by the tool; unknown to mxflow."),
       stats: (.value | [(keys | unique_words), [.[keys[]]]] | transpose | map({key: .[0], value: .[1]}) | from_entries),
       n: (.n // (.values | length) | floor), values, invalid: (.invalid // "")}]};

# Cells of one workload, named by as few as tell them apart of the parameters in which they differ.
def named:
  map(.what) as $all
  | [$all | map(keys[]) | unique[] | select(. as $k | $all | map(.[$k]) | unique | length > 1)] as $differ
  | (reduce $differ[] as $k (map(.workload);
      . as $names | [range($all | length) as $i | $names[$i] + "_\($k)_\($all[$i][$k] // "none")"]
      | if (unique | length) > ($names | unique | length) then . else $names end)) as $names
  | [range(length) as $i | .[$i] | .name = ($names[$i] | word) | .differs = (.what | with_entries(select(.key | IN($differ[]))))];

# The whole file, of the list of its values: what a program makes of it.
def file(rows):
  . as $docs | first((marked), null) as $marked
  | def shared(f): [.[] | f] | unique | if length == 1 then .[0] | if . == null then . else tostring end else null end;
  [if length == 1 then .[0] else . end | rows] | if length == 0 then error("it has no results") else . end
  | [to_entries[] | .key as $i | .value | checked($docs; $i) | .invalid //= $marked]
  | shared(.model) as $model | shared(.version) as $version
  | {tool: shared(.tool), $model, $version, date: shared(.date),
     notes: (reduce (.[] | .notes[], (.invalid // empty | "\(.), so a rule that reads it is inconclusive")) as $n ([]; if IN($n; .[]) then . else . + [$n] end)),
     cells: ([group_by([.workload, .model, .version, .what, .metric])[] | to_entries[] | .value + {nth: .key}]
       | group_by([.workload, .model, .version, .what, .nth]) | map(sort_by(.i)) | sort_by(.[0].i)
       | map(cell($model; $version)) | [to_entries[] | .value + {i: .key}]
       | [group_by(.workload | word)[] | named[]] | sort_by(.i) | map(del(.i, .workload)))}
  | (.cells | map(.name)) as $names | ($names | unique_words) as $free
  | .cells = [.cells | to_entries[] | .key as $i | .value | .name = $free[$i]]
  | .notes += [range($names | length) as $i | select($names[$i] != $free[$i])
      | "\($names[$i]) is measured several times; later ones are named \($names[$i])_2 and so on"] | .notes |= (reduce .[] as $n ([]; if IN($n; .[]) then . else . + [$n] end));

# Of the list of a file's values: 0 if a format does not know its first result, -1 if all are known, or which is not.
def known(knows): [if length == 1 then .[0] else . end | results | [try knows catch false] == [true]]
  | if first(.[], false) | not then 0 elif all then -1 else index(false) + 1 end;

# Names of numbers, and of what holds them, that make no difference to the rows; a list's elements are one.
def unread(rows):
  def within($path): if $path == [] then . elif type == "array" then .[] | within($path) elif type == "object" then .[$path[0]] | within($path[1:]) else empty end;
  def made: [if length == 1 then .[0] else . end | rows];
  . as $docs | made as $made
  | [paths(type == "number") | map(strings)] | unique as $numbers
  | def visit($path): ($path | length) as $depth
      | [$numbers[] | select(length > $depth and .[:$depth] == $path) | .[:$depth + 1]] | unique[] | . as $p
      | if $docs | delpaths([path(within($p))]) | try (made == $made) catch false then join(".") else visit($p) end;
  visit([]);

.
