# The plan that mxflow was made for: make vLLM the fastest engine for gpt-oss-120b on a
# GB10, one port at a time. README.md says where each part of the working papers is,
# and how each feature is expected to end.
#
#   mxflow validate examples/mxfp4_v2/plan.hcl
#   mxflow plan     examples/mxfp4_v2/plan.hcl
#   mxflow apply    examples/mxfp4_v2/plan.hcl --var engine=embedded    # anywhere, in one to two minutes
#
# With engine=embedded the same phases, features, rules and gates run on the embedded
# engine. A comment at each knob names its stand-in there.
#
# apply: --var engine=embedded
# exit status: 2
# phase.backup: pass
# phase.branches: pass
# feature.wip: invalid
# feature.gemm: pass
# phase.gemm: pass
# feature.caching: pass
# phase.caching: pass
# feature.activation: fail
# phase.activation: pass
# feature.tiles: pass
# phase.tiles: pass
# feature.eagle3: fail
# phase.speculation: fail
# feature.sinks: locked
# phase.sinks: locked
# phase.matrix: pass
# phase.upstream: fail

plan "mxfp4_v2" {
  summary = "Make vLLM the fastest engine for gpt-oss-120b on GB10 (SM121)"
  require = ["improve"] # of every port, as the papers' review does
}

variable "engine" {
  description = "vllm, or embedded to run the same plan without a GPU"
  default     = "vllm"

  validation {
    condition     = contains(["vllm", "embedded"], var.engine)
    error_message = "engine is vllm or embedded."
  }
}

variable "projects" {
  description = "Folder of the clones of vllm and flashinfer"
  default     = "~/projects"
}

locals {
  clones = { vllm = var.projects, embedded = "scratch" }[var.engine]
  backup = "mxfp4_wip_backup"

  # Output lengths of the workload, and the memory to look at: a GB10 shares the host's.
  outputs = { vllm = [32, 128], embedded = [32] }[var.engine]
  memory  = { vllm = "gpu.memory_in_use_gb", embedded = "engine.memory_gb" }[var.engine]

  # Thresholds. On a GB10 decode varies by 0.2% between launches, on a laptop's CPU by
  # 15%, so the thresholds for what is too small to see there are coarse.
  least = {
    vllm     = { gemm = 0.10, activation = 0.05, tiles = 0.05, slowdown = 0.03 }
    embedded = { gemm = 0.10, activation = 0.50, tiles = 0.05, slowdown = 0.50 }
  }[var.engine]
}

# ---------------------------------------------------------------- targets to beat

target "llamacpp" {
  tool    = "llama-bench f5acfb2ff"
  summary = "On the GB10; beside the embedded engine it only shows how targets read"
  metrics = { "chat.o32" = { pp = 2449.83, tg = 57.85 } }
}

target "sglang" {
  tool    = "llama-benchy 0.1.1"
  summary = "On the GB10"
  metrics = { "chat.o32" = { tg = 52.37, ttft = 49.87, tpot = 18.83 } }
}

# ------------------------------------------------------------- baseline and engine

engine "vllm" "gb10" {
  model = "openai/gpt-oss-120b"

  settings = {
    quantization           = "mxfp4"
    tensor_parallel_size   = 1
    gpu_memory_utilization = 0.70
    max_model_len          = 131072
    max_num_seqs           = 4
    max_num_batched_tokens = 8192
    enable_prefix_caching  = true
    load_format            = "fastsafetensors"
    enforce_eager          = false # CUDA graphs
  }
  env = {
    FLASHINFER_CUDA_ARCH_LIST = "12.1f"
    FLASHINFER_NVCC_THREADS   = "4"
  }
  ready {
    timeout = "30m"
  }
  metadata {
    repos    = { vllm = "${var.projects}/vllm", flashinfer = "${var.projects}/flashinfer" }
    commands = { clocks = "nvidia-smi -q -d CLOCK,POWER", pip = "python3 -m pip freeze" }
  }
}

engine "embedded" "tiny" {
  settings = { layers = 2 }
}

# -------------------------------------------------------- knobs: one gate per feature

# embedded: recomputing every prefix stands in for Marlin, a KV cache for the grouped GEMM.
knob "moe_kernel" {
  summary = "Kernel of the experts"
  default = "marlin"
  changes = ["moe_kernel"]

  value "marlin" {
    env = {
      vllm     = { VLLM_MXFP4_MOE_KERNEL = "marlin" }
      embedded = { MXFLOW_EMBEDDED_KV_CACHE = "off" }
    }[var.engine]
    must_see {
      log = { vllm = ["*Using Marlin backend*"], embedded = ["*using kernel full_prefix_attention_recompute*"] }[var.engine]
    }
    must_not_see {
      log = { vllm = ["*Using backend: CUTLASS*"], embedded = ["*using kernel decode_attention_kvcache*"] }[var.engine]
    }
  }
  value "gemm" {
    env = {
      vllm     = { VLLM_MXFP4_MOE_KERNEL = "gemm" }
      embedded = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    }[var.engine]
    must_see {
      log = { vllm = ["*Using backend: CUTLASS*"], embedded = ["*using kernel decode_attention_kvcache*"] }[var.engine]
    }
    must_not_see {
      log = { vllm = ["*Marlin backend*"], embedded = ["*using kernel full_prefix_attention_recompute*"] }[var.engine]
    }
  }
}

# embedded: a prefix cache, in which unique prompts find nothing.
knob "runner_cache" {
  summary = "Keep runners and their set-up between calls"
  default = "off"

  value "off" {
    env = {
      vllm     = { FLASHINFER_MOE_RUNNER_CACHE = "0" }
      embedded = { MXFLOW_EMBEDDED_PREFIX_CACHE = "off" }
    }[var.engine]
    must_see {
      log = { vllm = ["*MoE runner built*"], embedded = ["*lm_head: using kernel*"] }[var.engine]
    }
    must_not_see {
      log = { vllm = ["*MoE runner reused*"], embedded = ["*using kernel prefix_block_lookup*"] }[var.engine]
    }
  }
  value "on" {
    env = {
      vllm     = { FLASHINFER_MOE_RUNNER_CACHE = "1" }
      embedded = { MXFLOW_EMBEDDED_PREFIX_CACHE = "on" }
    }[var.engine]
    must_see {
      log = { vllm = ["*MoE runner reused*"], embedded = ["*using kernel prefix_block_lookup*"] }[var.engine]
    }
  }
}

# embedded: keys and values in 8 bits, rounded and no faster.
knob "activation" {
  summary = "Format of the activations"
  default = "bf16"

  value "bf16" {
    env = {
      vllm     = { VLLM_MXFP4_ACTIVATION = "bf16" }
      embedded = { MXFLOW_EMBEDDED_KV_FORMAT = "f32" }
    }[var.engine]
    must_see {
      log = { vllm = ["*MXFP4 activation: bf16*"], embedded = ["*lm_head: using kernel*"] }[var.engine]
    }
    must_not_see {
      log = { vllm = ["*mxfp8_quantize*"], embedded = ["*using kernel kv_round_int8*"] }[var.engine]
    }
  }
  value "mxfp8" {
    env = {
      vllm     = { VLLM_MXFP4_ACTIVATION = "mxfp8" }
      embedded = { MXFLOW_EMBEDDED_KV_FORMAT = "int8" }
    }[var.engine]
    must_see {
      log = { vllm = ["*mxfp8_quantize*"], embedded = ["*using kernel kv_round_int8*"] }[var.engine]
    }
  }
}

# embedded: all experts for every token, or only those it was routed to.
knob "tile" {
  summary = "Tile of the grouped GEMM: 128 rows are mostly empty when one token is decoded"
  default = "128x128"

  value "128x128" {
    env = {
      vllm     = { FLASHINFER_MOE_TILE = "128x128" }
      embedded = { MXFLOW_EMBEDDED_MOE = "all" }
    }[var.engine]
    must_see {
      log = { vllm = ["*MoE tile 128x128*"], embedded = ["*using kernel moe_all_experts*"] }[var.engine]
    }
  }
  value "64x128" {
    env = {
      vllm     = { FLASHINFER_MOE_TILE = "64x128" }
      embedded = { MXFLOW_EMBEDDED_MOE = "routed" }
    }[var.engine]
    must_see {
      log = { vllm = ["*MoE tile 64x128*"], embedded = ["*using kernel moe_routed*"] }[var.engine]
    }
    must_not_see {
      log = { vllm = ["*MoE tile 128x128*"], embedded = ["*using kernel moe_all_experts*"] }[var.engine]
    }
  }
}

# embedded: drafts of 4, 8 and 16 tokens from the prompt, nearly all of them wrong.
knob "draft" {
  summary = "Draft model of speculative decoding"
  default = "off"
  changes = [{ vllm = "speculative", embedded = "speculation" }[var.engine]]

  value "off" {
    settings = { vllm = { speculative = null }, embedded = {} }[var.engine]
    env      = { vllm = {}, embedded = { MXFLOW_EMBEDDED_SPECULATION = "off" } }[var.engine]
    must_see {
      log = { vllm = ["*speculative_config=None*"], embedded = ["*lm_head: using kernel*"] }[var.engine]
    }
    must_not_see {
      log = { vllm = ["*SpecDecoding metrics*"], embedded = ["*using kernel draft_verify*"] }[var.engine]
    }
  }

  dynamic "value" {
    for_each = { short = 4, long = 8, throughput = 16 }
    labels   = [value.key]
    content {
      settings = {
        vllm = { speculative = {
          method                 = "eagle3"
          model                  = "nvidia/gpt-oss-120b-Eagle3-${value.key == "throughput" ? value.key : "${value.key}-context"}"
          num_speculative_tokens = 3
        } }
        embedded = {}
      }[var.engine]
      env = { vllm = {}, embedded = { MXFLOW_EMBEDDED_SPECULATION = "prompt_lookup:${value.value}" } }[var.engine]
      must_see {
        log = { vllm = ["*SpecDecoding metrics*"], embedded = ["*using kernel draft_verify_batched*"] }[var.engine]
      }
    }
  }
}

# embedded: a softmax with sinks or without, as on vLLM.
knob "sinks" {
  summary = "Attention sinks"
  default = "off"

  value "off" {
    env = {
      vllm     = { VLLM_ATTENTION_SINKS = "false" }
      embedded = { MXFLOW_EMBEDDED_SINKS = "off" }
    }[var.engine]
    must_see {
      log = { vllm = ["*attention sinks: off*"], embedded = ["*using kernel softmax_plain*"] }[var.engine]
    }
  }
  value "on" {
    env = {
      vllm     = { VLLM_ATTENTION_SINKS = "true" }
      embedded = { MXFLOW_EMBEDDED_SINKS = "on" }
    }[var.engine]
    must_see {
      log = { vllm = ["*attention sinks: on*"], embedded = ["*using kernel softmax_sinks*"] }[var.engine]
    }
  }
}

# embedded: answers of random letters, as that path gave on SM121.
knob "attention" {
  summary = "Attention backend"
  default = "FLASHINFER"
  changes = ["attention"]

  value "FLASHINFER" {
    settings = { vllm = { attention_backend = "FLASHINFER" }, embedded = {} }[var.engine]
    must_see {
      log = { vllm = ["*AttentionBackendEnum.FLASHINFER backend*"], embedded = ["*softmax: using kernel*"] }[var.engine]
    }
  }
  value "FLASH_ATTN" {
    settings = { vllm = { attention_backend = "FLASH_ATTN" }, embedded = {} }[var.engine]
    env      = { vllm = {}, embedded = { MXFLOW_EMBEDDED_FAULT = "garbage" } }[var.engine]
    must_see {
      log = { vllm = ["*AttentionBackendEnum.FLASH_ATTN backend*"], embedded = ["*softmax: using kernel*"] }[var.engine]
    }
  }
}

# ------------------------------------------------------------ workload and protocol

workload "chat" {
  summary       = "A prompt of 2048 tokens, an answer of 32 and of 128"
  prompt_tokens = { vllm = 2048, embedded = 16 }[var.engine]
  output_tokens = local.outputs
  temperature   = 1
  top_p         = 1
  seed          = 42
  requests      = { vllm = 10, embedded = 24 }[var.engine]
  warmup        = { vllm = 3, embedded = 1 }[var.engine]
}

protocol "v2" {
  level "smoke" {
    expect = "Paris"
  }
  # Level 1.5: wrong kernels, no numbers.
  level "kernels" {}

  level "correctness" {
    prompts                 = { vllm = 64, embedded = 12 }[var.engine]
    output_tokens           = { vllm = 64, embedded = 24 }[var.engine]
    max_kl                  = 0.02
    min_argmax_match        = 0.98
    max_perplexity_increase = 0.01
  }
  level "stress" {
    sequential     = { vllm = 100, embedded = 12 }[var.engine]
    concurrency    = [2, 4]
    context_tokens = { vllm = [32768, 65536], embedded = [128] }[var.engine]
    prompt_tokens  = { vllm = [16, 256], embedded = [16, 48] }[var.engine]
    output_tokens  = { vllm = [8, 64], embedded = [8, 16] }[var.engine]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
  level "regression" {
    decisive               = ["chat.o32.tg", "engine.memory_gb"]
    max_slowdown           = local.least.slowdown
    max_memory_increase_gb = 1
  }
}

# How the old branch was measured: its log is fine, here is its speed. Nobody read its
# answers.
protocol "speed_only" {
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = { vllm = engine.vllm.gb10, embedded = engine.embedded.tiny }[var.engine]
  protocol = protocol.v2
}

# The embedded engine shares its CPUs with whatever else runs, so its error rates are
# higher: 5% false passes, not 1%, and 10% false fails, not 5%.
decision {
  false_pass = { vllm = 0.01, embedded = 0.05 }[var.engine]
  false_fail = { vllm = 0.05, embedded = 0.1 }[var.engine]
}

# The columns of the papers' comparison matrix.
report {
  columns = concat(
    [for n in local.outputs : { column = "chat.tg${n}", heading = "tg${n}" }],
    [
      { column = "chat.o32.pp", heading = "Prefill" },
      { column = "chat.o32.ttft.p50", heading = "TTFT p50" },
      { column = local.memory, heading = "Memory (GB)" },
      { column = "engine.startup_s", heading = "Startup (s)" },
      { column = "chat.o32.accept_rate", heading = "Accepted drafts" },
      { column = "levels.correctness.kl", heading = "KL" },
    ]
  )
}

# ------------------------------------------------------------------------- phases

phase "backup" {
  summary = "Tag what is there, so that nothing is lost"

  dynamic "step" {
    for_each = { vllm = [], embedded = ["scratch"] }[var.engine]
    labels   = ["exec", step.value]
    content {
      command = ["sh", "scratch.sh"]
    }
  }
  step "git_tag" "vllm" {
    repo = "${local.clones}/vllm"
    name = local.backup
    from = "mxfp4_wip"
  }
  step "git_tag" "flashinfer" {
    repo = "${local.clones}/flashinfer"
    name = local.backup
    from = "mxfp4_wip"
  }
}

phase "branches" {
  summary = "Fresh branches from upstream, with the pull request that has the gates"
  after   = [phase.backup]

  step "git_branch" "flashinfer" {
    repo = "${local.clones}/flashinfer"
    name = "mxfp4_v2"
    from = "upstream/main"
  }
  step "git_branch" "vllm" {
    repo   = "${local.clones}/vllm"
    name   = "mxfp4_v2"
    from   = "pull/31740/head"
    remote = "upstream"
  }
}

# The whole old branch, measured as it used to be. It has the best number of all, and
# it answers with garbage: the number does not count.
phase "wip" {
  summary = "What the old branch is worth"
  after   = [phase.branches]

  feature "wip" {
    summary  = "All of mxfp4_wip at once: FLASH_ATTN, grouped GEMM, small tiles"
    set      = { attention = "FLASH_ATTN", moe_kernel = "gemm", tile = "64x128" }
    protocol = protocol.speed_only
    accept   = [] # a trial: it never enters the stack
    improve  = ["Port its parts one at a time, each behind a gate"]

    criterion "decode" {
      rule = "chat.tg32.gain >= ${local.least.gemm}"
    }
  }
}

phase "gemm" {
  summary = "P1: CUTLASS grouped GEMM"
  after   = [phase.branches]

  feature "gemm" {
    summary   = "Grouped GEMM in place of Marlin"
    priority  = 1
    builds_on = accepted
    set       = { moe_kernel = "gemm" }
    improve   = ["With one token most of a tile is padding"]

    hypothesis {
      metric  = "chat.o32.tg"
      expect  = "+10%"
      because = "FP4 runs natively on SM121, where Marlin dequantises every weight"
    }
    criterion "decode" {
      rule = "chat.tg32.gain >= ${local.least.gemm}"
    }
    criterion "memory" {
      rule = "engine.memory_gb.delta <= 2"
    }
  }
  gate {
    rule "CUTLASS path proven, no Marlin" {
      rule = "levels.kernels == 'pass'"
    }
  }
}

phase "caching" {
  summary = "P2: runner and set-up caching"
  after   = [phase.gemm]

  feature "caching" {
    summary   = "Reuse runners in place of building one a call"
    priority  = 2
    builds_on = accepted
    set       = { runner_cache = "on" }
    improve   = ["Compile the common configurations ahead of time"]

    hypothesis {
      metric  = "chat.o32.ttft"
      expect  = "-30%"
      because = "set-up and JIT are paid for once, not with every first token"
    }
    criterion "first_token" {
      rule = "chat.o32.ttft <= 500"
    }
    criterion "startup" {
      rule = "engine.startup_s <= 60"
    }
  }
  gate {
    rule "first token within a second" {
      rule = "chat.o32.ttft <= 1000"
    }
    rule "up within 90 s" {
      rule = "engine.startup_s <= 90"
    }
  }
}

phase "activation" {
  summary = "P3: MXFP8 activations"
  after   = [phase.caching]

  # Within noise. The feature does not enter the stack, but nothing got worse, so the
  # gate still lets the next port begin.
  feature "activation" {
    summary   = "Quantise activations to MXFP8 once a layer"
    priority  = 3
    builds_on = accepted
    set       = { activation = "mxfp8" }
    improve   = ["Convert within the kernel that expands to the experts, not before it"]

    hypothesis {
      metric  = "chat.o32.tg"
      expect  = "+${100 * local.least.activation}%"
      because = "BF16 is converted to FP8 before every GEMM"
    }
    criterion "decode" {
      rule = "chat.tg32.gain >= ${local.least.activation}"
    }
  }
  gate {
    rule "no correctness regressions" {
      rule = "levels.correctness == 'pass'"
    }
    rule "speed is stable" {
      rule = "chat.tg32.gain >= -${local.least.slowdown}"
    }
  }
}

phase "tiles" {
  summary = "P4: tiles for one token"
  after   = [phase.activation]

  feature "tiles" {
    summary   = "Tiles of 64x128"
    priority  = 4
    builds_on = accepted
    set       = { tile = "64x128" }
    notes     = ["128x128 stays the better tile for larger batches"]
    improve   = ["Choose the tile by the number of tokens"]

    hypothesis {
      metric  = "chat.o32.tg"
      expect  = "+5%"
      because = "with 128 rows to a tile, decoding one token computes mostly padding"
    }
    criterion "decode" {
      rule = "chat.tg32.gain >= ${local.least.tiles}"
    }
  }
  gate {
    rule "works without crashes" {
      rule = "engine.crashes == 0 and levels.stress == 'pass'"
    }
  }
}

phase "speculation" {
  summary = "P5: speculative decoding"
  after   = [phase.tiles]

  # One of three draft models. All are expected to win, and all lose: most drafts are
  # rejected, and each costs as much as a token.
  feature "eagle3" {
    summary   = "Eagle3, with the draft model that suits the prompts best"
    priority  = 5
    builds_on = accepted
    choose    = { draft = ["short", "long", "throughput"] }
    prefer    = "chat.o32.tg"
    improve   = ["Find out why most drafts are rejected"]

    hypothesis {
      metric  = "chat.o32.tg"
      expect  = "+50%"
      because = "several tokens a step for little more than the price of one"
    }
    criterion "decode" {
      rule = "chat.tg32.gain >= 0.50"
    }
    criterion "acceptance" {
      rule = "chat.o32.accept_rate >= 0.6"
    }
  }
  gate {
    rule "at least 30% before sinks are added" {
      rule = "chat.tg32.gain >= 0.30"
    }
  }
}

# Blocked by the gate above.
phase "sinks" {
  summary = "P6: attention sinks"
  after   = [phase.speculation]

  feature "sinks" {
    summary   = "Sinks in the native attention path"
    priority  = 6
    builds_on = accepted
    set       = { sinks = "on" }
    improve   = ["Sinks in the decode path too"]

    hypothesis {
      metric  = "chat.o32.tg"
      expect  = ">= -3%"
      because = "one more term in the softmax"
    }
    criterion "decode" {
      rule = "chat.tg32.gain >= -${local.least.slowdown}"
    }
    criterion "stable" {
      rule = "engine.crashes == 0"
    }
  }
}

# Level 6: do the ports get in each other's way?
phase "matrix" {
  summary       = "Ports in combination"
  after_decided = [phase.tiles]

  step "matrix" "together" {
    knobs     = { moe_kernel = ["marlin", "gemm"], tile = ["128x128", "64x128"] }
    workloads = [workload.chat]
    protocol  = protocol.v2
    launches  = { vllm = 3, embedded = 2 }[var.engine]
  }
}

# What to improve in FlashInfer, by commit, file and snippet, followed to where it is
# today. Fails if a note has been dealt with upstream.
phase "upstream" {
  summary       = "Notes on FlashInfer that are still open"
  after_decided = [phase.branches]

  step "upstream_todo" "runner_caching" {
    repo    = "${local.clones}/flashinfer"
    commit  = local.backup
    ref     = "upstream/main"
    file    = "flashinfer/fused_moe/core.py"
    snippet = "def cutlass_fused_moe"

    improvement = "Keep the runner between calls"
  }
  step "upstream_todo" "granularity" {
    repo    = "${local.clones}/flashinfer"
    commit  = local.backup
    ref     = "upstream/main"
    file    = "csrc/fused_moe/sm12x_*.cuh"
    snippet = "kSm12xBlockScaleGranularity = 128"

    improvement = "64 would suit one token at a time better"
  }
}
