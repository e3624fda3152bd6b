# An example of each step, for the manual.

step "docker_build" "vllm" {
  context = "../vllm"
  tag     = "vllm-dev:mxfp4"
  target  = "dev"
  args    = { max_jobs = "4" }
}

step "exec" "backup" {
  command = ["git", "tag", "--force", "before-the-port"]
  timeout = "1m"
}
