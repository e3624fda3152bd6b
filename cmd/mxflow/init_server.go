package main

import (
	"github.com/mxflow/mxflow/engine/kinds"
)

// server is what a scaffold says of a kind of engine: a model to begin with,
// settings that most plans want to see, and a knob whose evidence is known.
type server struct {
	// Model is the default of var.model. Process is the argument vector as HCL
	// where the kind has no command of its own, or needs a folder to be started in.
	Model, Process string
	// Settings are lines of HCL.
	Settings []string
	// Knob and its two values; empty where the evidence is for the user to find.
	Knob, Old, New string
	// OldSet and NewSet are lines of HCL in the settings of the values, OldLog and
	// NewLog globs.
	OldSet, NewSet, OldLog, NewLog string
}

// servers by kind. Settings and log lines are those of the versions that the
// kinds name: vLLM 0.21 (the line that names the chosen back end goes on to list
// all of them, so the glob holds the words around the name), SGLang 0.5.15,
// llama.cpp b10472, TensorRT-LLM 1.2, Ollama 0.33.
var servers = map[string]server{
	"vllm": {
		Model:    "openai/gpt-oss-20b",
		Settings: []string{"max_model_len = 8192", "max_num_seqs = 16", "enable_prefix_caching = false # prompts are measured, not looked up"},
		Knob:     "attention", Old: "flash_attn", New: "flashinfer",
		OldSet: `attention_backend = "FLASH_ATTN"`, NewSet: `attention_backend = "FLASHINFER"`,
		OldLog: "*Using FLASH_ATTN attention backend*", NewLog: "*Using FLASHINFER attention backend*",
	},
	"sglang": {
		Model:    "openai/gpt-oss-20b",
		Settings: []string{"max_model_len = 8192", "max_num_seqs = 16", "enable_prefix_caching = false # prompts are measured, not looked up", "enable_metrics = true"},
		Knob:     "attention", Old: "triton", New: "fa3",
		OldSet: `attention_backend = "triton"`, NewSet: `attention_backend = "fa3"`,
		OldLog: "*server_args=* attention_backend='triton'*", NewLog: "*server_args=* attention_backend='fa3'*",
	},
	"llamacpp": {
		Model:    "model.gguf",
		Settings: []string{`gpu_layers = "all"`, "max_model_len = 8192 # of each slot", "max_num_seqs = 4", "enable_prefix_caching = false # prompts are measured, not looked up"},
		Knob:     "attention", Old: "plain", New: "flash",
		OldSet: `attention_backend = "off"`, NewSet: `attention_backend = "on"`,
		OldLog: "*flash_attn * = disabled*", NewLog: "*flash_attn * = enabled*",
	},
	"trtllm": {
		Model:    "openai/gpt-oss-20b",
		Settings: []string{"max_model_len = 8192", "max_num_seqs = 16", "enable_prefix_caching = false # prompts are measured, not looked up"},
		Knob:     "experts", Old: "cutlass", New: "trtllm",
		OldSet: `moe_backend = "CUTLASS"`, NewSet: `moe_backend = "TRTLLM"`,
		OldLog: "*MoeConfig(backend='CUTLASS'*", NewLog: "*MoeConfig(backend='TRTLLM'*",
	},
	"ollama": {
		Model:    "gpt-oss:20b",
		Settings: []string{"max_model_len = 8192", "max_num_seqs = 4"},
		Knob:     "attention", Old: "plain", New: "flash",
		OldSet: `attention_backend = "off"`, NewSet: `attention_backend = "on"`,
		OldLog: "*flash_attn * = disabled*", NewLog: "*flash_attn * = enabled*",
	},
	"transformers": {Model: "Qwen/Qwen3-0.6B", Settings: []string{`dtype = "bfloat16"`}},
	"tabbyapi": {
		Model: "gpt-oss-20b-exl3", Process: `["python", "main.py", "--model-name", "{model}", "--disable-auth", "true", "--port", "{port}"]`,
		Settings: []string{`model_dir = "models"`, "max_model_len = 8192", "max_num_seqs = 16"},
	},
	"openai": {Model: "openai/gpt-oss-20b", Process: `["my-server", "--model", "{model}", "--port", "{port}"]`},
}

// scaffolded tells the kinds that there is a plan to begin with for.
func scaffolded(k kinds.Kind) bool {
	_, known := servers[k.Name]
	return known || runsAsIs(k.Name)
}
