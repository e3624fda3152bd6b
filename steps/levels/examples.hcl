# An example of each level, for the manual.

level "correctness" {
  max_kl           = 0.02
  min_argmax_match = 0.99
}

level "eval" {
  questions = file("gsm8k.jsonl")
  max_drop  = 2
}

level "exec" "accuracy" {
  command = ["python3", "eval.py"]
  timeout = "20m"

  metric "exact_match" {
    jq     = ".exact_match"
    unit   = "share"
    better = "higher"
  }
}

level "kernels" {
  from = ["log"]
}

level "smoke" {
  prompt = "The capital of France is"
  expect = "Paris"
}
