package main

// server is what a scaffold knows of an engine that a plan starts by its own
// command: how it is started, and a knob whose evidence is known. Its kind is
// openai until the engine has one of its own.
type server struct {
	// Command is the argument vector as HCL; Model the default of var.model.
	Command, Model string
	// Knob and its two values; empty where the evidence is for the user to find.
	Knob, Old, New string
	// OldArgs and NewArgs as HCL lists, OldLog and NewLog are globs.
	OldArgs, NewArgs, OldLog, NewLog string
}

// servers by the word that init --engine takes. Commands and log lines: vLLM
// about 0.21 (the line that names the chosen back end goes on to list all of
// them, so the glob holds the words around the name), SGLang about 0.5.15,
// llama.cpp about b10472.
var servers = map[string]server{
	"vllm": {
		Command: `["vllm", "serve", var.model, "--port", "{port}"]`, Model: "openai/gpt-oss-120b",
		Knob: "attention", Old: "flash_attn", New: "flashinfer",
		OldArgs: `["--attention-backend", "FLASH_ATTN"]`, NewArgs: `["--attention-backend", "FLASHINFER"]`,
		OldLog: "*Using FLASH_ATTN attention backend*", NewLog: "*Using FLASHINFER attention backend*",
	},
	"sglang": {
		Command: `["python3", "-m", "sglang.launch_server", "--model-path", var.model, "--port", "{port}"]`, Model: "openai/gpt-oss-120b",
	},
	"llamacpp": {
		Command: `["llama-server", "-m", var.model, "--port", "{port}"]`, Model: "model.gguf",
	},
}

// serverFor is the scaffold's server; the generic kind gets vLLM's command as an
// example, and a knob to be filled in.
func serverFor(name string) server {
	if s, ok := servers[name]; ok {
		return s
	}
	return server{Command: servers["vllm"].Command, Model: servers["vllm"].Model}
}
