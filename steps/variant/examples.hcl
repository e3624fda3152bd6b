# An example of each block of an engine, and of what a program prints, for the manual.

output {
  file   = "out/result.json"
  format = "json"
}

metric "tg" {
  jq     = ".results[].tg"
  unit   = "tok/s"
  better = "higher"
}

run {
  timeout = "30m"
}

compose {
  file     = "compose.yaml"
  service  = "vllm"
  profiles = ["gpu"]
}

docker {
  image    = "vllm/vllm-openai:v0.11.0"
  gpus     = "all"
  ipc      = "host"
  shm_size = "32g"
  ulimits  = { memlock = "-1", stack = "67108864" }
  volumes = {
    "~/.cache/huggingface" = "/root/.cache/huggingface"
    "../vllm"              = "/workspace/vllm:ro"
  }
}

endpoint {
  url     = "https://box.example:8000/v1"
  restart = ["ssh", "box.example", "systemctl", "restart", "vllm"]
}

exec {
  container = "vllm-dev"
  command   = ["vllm", "serve", "/models/gpt-oss-20b", "--host", "0.0.0.0", "--port", "{port}"]
  workdir   = "/workspace/vllm"
}

gpu {
  devices = ["0"]
  wait    = "30m"
}

metadata {
  repos    = { vllm = "/workspace/vllm" }
  commands = { clocks = "nvidia-smi -q -d CLOCK" }
}

profile {
  ready_path   = "/healthz"
  metrics_path = "/metrics"
  metrics      = { running = "my_requests_running" }
}

profiler {
  wrap = ["nsys", "profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--force-overwrite=true", "-o", "{profile}/engine"]
}

source "vllm" {
  repo  = "~/projects/vllm"
  ref   = "mxfp4_v2"
  build = [["python3", "setup.py", "build_ext", "--inplace"]]
}

source "vllm" {
  ref = "mxfp4_v2"
}

caches {
  state = "cold"
}

tree "vllm" {
  path  = "~/projects/vllm"
  paths = ["csrc", "vllm"]
}
