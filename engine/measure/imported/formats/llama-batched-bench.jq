# One object a line: pl sequences at once, each with pp prompt tokens and tg generated ones, by the shape of llama.cpp of 2026.
module {tool: "llama-batched-bench", file: "--output-format jsonl"};
def knows: has("speed_pp") and has("speed_tg") and has("pl");
results | [needed("pp", "tg", "pl")] as [$pp, $tg, $pl]
| {workload: "pp\($pp)_tg\($tg)_b\($pl)", what: {n_kv_max, n_batch, n_ubatch, flash_attn, is_pp_shared, n_gpu_layers, n_threads, n_threads_batch}}
  + measured([
    ["speed_pp", "tok/s", "higher", "Prompt tokens of all sequences over the time to process them; a shared prompt counts once."],
    ["speed_tg", "tok/s", "higher", "Generated tokens of all sequences over the time to generate them."],
    ["speed", "tok/s", "higher", "Prompt and generated tokens over the time of both."],
    ["t_pp", "s", "lower", "Time to process the prompts."], ["t_tg", "s", "lower", "Time to generate."], ["t", "s", "lower", "Time of both."]])
