#!/usr/bin/env python3
"""Every number that a reader wants of the samples in this folder, read a second time.

It was written after the tools' sources and documentation, and not after the jq
programs in ../formats, whose numbers TestNumbers compares with these. Prints
{sample: [[load, metric, statistic, number], ...]}:

    python3 numbers.py > numbers.json

"numbers.py vllm.json=FILE" reads a FILE of one's own by the rules of that sample.

Names: a metric has the tool's own name, without the statistic if its name holds
one (mean_ttft_ms is the mean of ttft_ms). Statistics have one name each, as in
STATISTIC; a number that stands alone is the "value". A dot in the name of a
percentile is "_", because a rule's address is made of dots.

Left out everywhere are the parameters of the load and of the run, dates, and
per-request lists that the file sums up itself.
"""
import json
import os
import re
import sys

STATISTIC = {"avg": "mean", "average": "mean", "std_dev": "std", "stddev": "std", "minimum": "min", "maximum": "max"}


def statistic(name):
    return STATISTIC.get(name, name).replace(".", "_")


def number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool) and v == v and abs(v) != float("inf")


def block(load, metric, stats, leave_out=()):
    """The rows of an object {statistic: number}."""
    return [[load, metric, statistic(k), v] for k, v in stats.items() if number(v) and k not in leave_out]


def values(load, obj, names):
    """The rows of numbers that stand alone."""
    return [[load, n, "value", obj[n]] for n in names if number(obj.get(n))]


def documents(text):
    """JSON, or JSON lines. Python's reader takes SGLang's NaN and Infinity, which number refuses."""
    decoder, at, docs = json.JSONDecoder(), 0, []
    while at < len(text.rstrip()):
        doc, end = decoder.raw_decode(text, at)
        docs.append(doc)
        at = end + len(re.match(r"\s*", text[end:]).group())
    return docs


def aiperf(docs):
    # Each top-level object with a unit is a metric. count and sum are sizes of the distribution.
    d = docs[0]
    load = d.get("run_info", {}).get("variation_label", "all")
    return [r for k, v in d.items() if isinstance(v, dict) and "unit" in v for r in block(load, k, v, ("count", "sum"))]


def aiperf_aggregate(docs):
    # t_critical is a constant of the table, not of the measurement. A metric of one run has none: AIPerf
    # writes 0 for its spread and the number itself for its interval.
    rows = []
    for k, v in docs[0]["metrics"].items():
        one = () if number(v.get("t_critical")) else ("std", "cv", "se", "ci_low", "ci_high")
        rows += block("runs", k, v, ("t_critical",) + one)
    return rows


def genai_perf(docs):
    return [r for k, v in docs[0].items() if isinstance(v, dict) and "unit" in v for r in block("all", k, v)]


def llama_benchy(docs):
    rows = []
    for b in docs[0]["benchmarks"]:
        load = "pp%(prompt_size)d tg%(response_size)d d%(context_size)d c%(concurrency)d" % b
        load += " context" if b["is_context_prefill_phase"] else ""
        for k, v in b.items():
            if isinstance(v, dict):
                rows += block(load, k, v, ("std",) if len(v["values"]) == 1 else ())
    return rows


def llama_bench(docs):
    # avg_ns and stddev_ns are the same tests as times; tokens per second are what people read. One repetition
    # has no deviation: llama-bench writes 0, as llama-benchy does.
    rows = []
    for b in docs[0] if isinstance(docs[0], list) else docs:
        load = "pp%d tg%d d%d, %d layers" % (b["n_prompt"], b["n_gen"], b.get("n_depth", 0), b["n_gpu_layers"])
        rows.append([load, "ts", "mean", b["avg_ts"]])
        if len(b.get("samples_ts", ())) != 1:
            rows.append([load, "ts", "std", b["stddev_ts"]])
    return rows


def llama_batched_bench(docs):
    rows = []
    for b in docs:
        load = "pp%(pp)d tg%(tg)d, %(pl)d sequences, flash attention %(flash_attn)d" % b
        rows += values(load, b, ("t_pp", "speed_pp", "t_tg", "speed_tg", "t", "speed"))
    return rows


def guidellm(docs):
    # Of each metric, the requests that succeeded. count and total_sum are sizes, variance is the
    # square of the deviation, and the mode of a measured quantity is an accident. p999 is 99.9 %.
    rows = []
    names = {"p001": "p0_1", "p01": "p1", "p05": "p5", "p999": "p99_9"}
    for b in docs[0]["benchmarks"]:
        s = b["config"]["strategy"]
        load = "%s %s" % (s["type_"], s.get("streams", s.get("rate", "")))
        for k, v in b["metrics"].items():
            d = v.get("successful") if isinstance(v, dict) else None
            # A time that no request has is 0 in the file, for each of them: nothing was measured.
            if not isinstance(d, dict) or d["count"] == 0 or d["max"] == 0:
                continue
            rows += block(load, k, d, ("mode", "variance", "count", "total_sum"))
            rows += [[load, k, names.get(p, p), x] for p, x in d["percentiles"].items()]
    return rows


def inference_perf(docs):
    # Speeds, latencies and goodput of the requests that succeeded; not the sizes of what was sent and answered.
    s = docs[0]["successes"]
    load = "rate %s" % docs[0]["load_summary"].get("requested_rate")
    rows = []
    for k, v in s["latency"].items():
        rows += block(load, k, v or {})
    # Without images, videos and audio, their rates are 0.
    rows += [r for r in values(load, s["throughput"], s["throughput"]) if r[3] != 0]
    g = s.get("goodput_metrics", {})
    return rows + values(load, g, [k for k in g if re.search("goodput|percentage", k)])


def lm_eval(docs):
    # Keys of scores are "metric,filter". A group is in results and in groups: one score. N/A is none.
    rows = []
    for task, scores in docs[0]["results"].items():
        for k, v in scores.items():
            name, comma, filter = k.partition(",")
            if comma and number(v):
                of = re.fullmatch(r"(.*)_stderr", name)
                rows.append(["%s, %s" % (task, filter), of[1] if of else name, "stderr" if of else "mean", v])
    return rows


def lm_eval_samples(docs):
    # The score of a filter is the mean over its questions.
    scores = {}
    for q in docs:
        for m in q["metrics"]:
            scores.setdefault((q["filter"], m), []).append(q[m])
    return [[f, m, "mean", sum(v) / len(v)] for (f, m), v in scores.items()]


def sglang_one_batch(docs):
    # bench_one_batch, and bench_one_batch_server, which writes -1 for what its server did not say.
    rows = []
    for b in docs:
        load = "batch %(batch_size)d, pp%(input_len)d tg%(output_len)d" % b
        parameters = ("batch_size", "input_len", "output_len")
        # With one output token no time is left to generate in, and the tool does not print this speed.
        none = ("output_throughput",) if b["output_len"] == 1 else ()
        rows += [r for r in values(load, b, b) if r[1] not in parameters + none and
                 not (r[1] in ("acc_length", "last_gen_throughput") and r[3] == -1)]
    return rows


SERVING = re.compile(r"(mean|median|std|max|p[0-9.]+)_(.+_ms)")


def serving(load, d, names):
    """Results of vLLM's serving benchmark and of SGLang's, which grew from it."""
    # Both write 0 for all statistics of a time that no request has, such as between tokens without streaming,
    # and for the deviation of one request.
    rows, times = values(load, d, names), {}
    for k, v in d.items():
        found = SERVING.fullmatch(k)
        if found and number(v) and not (found[1] == "std" and v == 0 and d["completed"] == 1):
            times.setdefault(found[2], []).append([load, found[2], statistic(found[1]), v])
    return rows + [r for of in times.values() if any(r[3] for r in of) for r in of]


def sglang(docs):
    # max_concurrency is a parameter; concurrency was measured. There are tokens of images if there were images.
    rows = []
    for d in docs:
        load = "%s, rate %s, concurrency %s" % (d["dataset_name"], d["request_rate"], d["max_concurrency"])
        rows += serving(load, d, [k for k in d if k in (
            "duration", "completed", "accept_length", "concurrency", "max_output_tokens_per_s",
            "max_concurrent_requests") or re.search(r"_throughput$|^total_.*_tokens", k) and d[k]])
        rows += values(load, d.get("cache_report", {}), ["cache_hit_rate_pct"])
    return rows


def vllm(docs):
    # rtfx, the speed of audio, is 0 where there was none.
    rows = []
    for d in docs:
        load = "rate %s, concurrency %s" % (d["request_rate"], d["max_concurrency"])
        rows += serving(load, d, [k for k in d if k in (
            "duration", "completed", "failed", "request_goodput", "max_output_tokens_per_s", "max_concurrent_requests",
            ) or re.search(r"_throughput$|^total_.*_tokens$|^spec_decode_", k) or k == "rtfx" and d[k]])
    return rows


def vllm_latency(docs):
    d = docs[0]
    rows = block("all", "latency", {"mean": d["avg_latency"], "std": d.get("std_latency")})
    return rows + [["all", "latency", "p" + p, v] for p, v in d["percentiles"].items()]


def vllm_throughput(docs):
    return values("all", docs[0], docs[0])


def trtllm_bench(docs):
    # avg_…_ms are the averages of the percentiles of the same name, and token_output_speed_tok_s that of
    # gen_tps_percentiles.
    d, rows = docs[0], []
    load = "pp%(avg_input_length)g tg%(avg_output_length)g" % d["request_info"]
    for part in ("performance", "streaming_metrics", "decoding_stats"):
        for k, v in d.get(part, {}).items():
            if isinstance(v, dict):
                rows += block(load, k, v)
            elif number(v) and not k.startswith("avg_"):
                rows.append([load, k, "value", v])
    return rows


READERS = {
    "aiperf-aggregate.json": aiperf_aggregate,
    "aiperf.json": aiperf,
    "benchy.json": llama_benchy,
    "genai-perf.json": genai_perf,
    "guidellm.json": guidellm,
    "inference-perf.json": inference_perf,
    "llama-batched-bench.jsonl": llama_batched_bench,
    "llamabench.json": llama_bench,
    "lm-eval-samples.jsonl": lm_eval_samples,
    "lm-eval.json": lm_eval,
    "sglang-one-batch.jsonl": sglang_one_batch,
    "sglang.jsonl": sglang,
    "trtllm-bench.json": trtllm_bench,
    "vllm-latency.json": vllm_latency,
    "vllm-throughput.json": vllm_throughput,
    "vllm.json": vllm,
}

if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    lines = []
    for name in sys.argv[1:] or sorted(READERS):
        sample, _, path = name.partition("=")
        with open(path or os.path.join(folder, sample), encoding="utf-8") as f:
            rows = READERS[sample](documents(f.read()))
        lines.append(json.dumps(path or sample) + ": [\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]")
    print("{\n" + ",\n".join(lines) + "\n}")
