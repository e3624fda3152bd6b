# One object, of all requests at once without a server. Neither model nor sizes are in it. By the shape of vLLM 0.10 and later.
module {tool: "vLLM bench throughput", file: "--output-json"};
def knows: has("elapsed_time") and has("num_requests") and has("tokens_per_second");
results | measured([
  ["requests_per_second", "req/s", "higher", "Requests over the elapsed time."],
  ["tokens_per_second", "tok/s", "higher", "Prompt and output tokens over the elapsed time."],
  ["elapsed_time", "s", "lower", "Time to answer all requests."],
  ["num_requests", "requests", "", "Requests."], ["total_num_tokens", "tokens", "", "Prompt and output tokens."]])
