// Package scaffold writes starter plans for kinds of engines, and files that tell a coding
// agent how to work with a sealed plan. It overwrites nothing and prints nothing.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
	"time"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/yamlbody"
	"github.com/mxflow/mxflow/steps"
)

// Agent writes a coding agent's instructions for working with a plan into a folder. If
// one of the files exists, neither is written.
func Agent(dir string) (names []string, err error) {
	names = []string{"AGENTS.md", "SKILL.md"}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s already exists and is not overwritten. Choose another folder, or move it first",
				filepath.Join(dir, name))
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := texts.ReadFile("texts/agent/" + name)
		if err != nil {
			return nil, err
		}
		if err := files.Create(filepath.Join(dir, name), text); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// YAMLSchema is the line by which editors complete and check a plan in YAML.
const YAMLSchema = "# yaml-language-server: $schema=mxflow.schema.json"

// Kinds are the kinds of engines, each of which has a starter plan.
func Kinds() (names []string) {
	for _, k := range kinds.All() {
		names = append(names, k.Name)
	}
	return names
}

// Plan writes the starter plan for a kind of engine into a folder, in HCL or YAML, and
// returns its path.
func Plan(kind, dir string, yaml bool) (path string, err error) {
	k, known := kinds.Lookup(kind)
	if !known {
		return "", fmt.Errorf("--kind %s: no such kind.%s", kind, lang.Suggest(kind, Kinds()))
	}
	if lang.IsSource(dir) {
		return "", fmt.Errorf("%s looks like a plan, but init takes the folder for it: %s", dir,
			shell.Line("mxflow", "init", filepath.Dir(dir)))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "plan.hcl")
	plan, err := text(k)
	if plan = hclwrite.Format(plan); yaml && err == nil {
		names := load.Names(steps.Registry())
		path = filepath.Join(dir, "plan.yaml")
		plan, err = yamlbody.FromHCL(plan, func(attr string) bool { return names[attr] })
		if err == nil {
			plan, err = yamlbody.Format(append([]byte(YAMLSchema+"\n"), plan...), load.TopLevel())
		}
	}
	if err != nil {
		return "", err
	}
	switch err := files.Create(path, plan); {
	case errors.Is(err, fs.ErrExist):
		return "",
			fmt.Errorf("%s already exists and is not overwritten. Choose another folder, or remove it first", path)
	case err != nil:
		return "", err
	}
	return path, nil
}

// texts are starter plans: one for a kind by its name, or the template for
// servers.
//
//go:embed texts
var texts embed.FS

// text is the starter plan for a kind of engine.
func text(k kinds.Kind) ([]byte, error) {
	if text, err := texts.ReadFile("texts/" + k.Name + ".hcl"); err == nil {
		return text, nil
	}
	t, err := template.New("server.hcl.tmpl").Funcs(template.FuncMap{"comment": comment}).ParseFS(texts,
		"texts/server.hcl.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		kinds.Kind
		Timeout string
		Server  server
	}{k, shortDuration(k.DefaultReadyTimeout), servers[k.Name]})
	return b.Bytes(), err
}

// RunsAsIs reports whether a kind's starter plan needs nothing filled in.
func RunsAsIs(kind string) bool { return kind == "embedded" }

var zeroUnits = regexp.MustCompile(`([hm])0[ms].*$`)

// shortDuration formats 15m0s as 15m.
func shortDuration(d time.Duration) string { return zeroUnits.ReplaceAllString(d.String(), "$1") }

// comment breaks a paragraph into lines that start with #.
func comment(text string) string {
	return "# " + strings.ReplaceAll(table.Wrap(text, 78), "\n", "\n# ")
}

// server is the scaffold's data for a kind of engine: a first model, settings that most
// plans want, and a knob with known evidence.
type server struct {
	// Model is the default of var.model. Process is the argument vector as HCL if the
	// kind has no command of its own, or must be started in a folder.
	Model, Process string
	// Settings are lines of HCL.
	Settings []string
	// Knob and its two values; empty if the evidence is up to the user.
	Knob, Old, New string
	// OldSet and NewSet are lines of HCL in the settings of the values, OldLog and
	// NewLog globs.
	OldSet, NewSet, OldLog, NewLog string
}

// servers by kind. Settings and log lines are those of the versions that the kinds name:
// vLLM 0.21 (the line that names the chosen back end then lists all of them, so the glob
// includes the words around the name), SGLang 0.5.15, llama.cpp b10472, TensorRT-LLM 1.2,
// Ollama 0.33.
var servers = map[string]server{
	"vllm": {
		Model: "openai/gpt-oss-20b",
		Settings: []string{
			"max_model_len = 8192", "max_num_seqs = 16",
			"enable_prefix_caching = false # prompts are measured, not looked up",
		},
		Knob: "attention", Old: "flash_attn", New: "flashinfer",
		OldSet: `attention_backend = "FLASH_ATTN"`, NewSet: `attention_backend = "FLASHINFER"`,
		OldLog: "*Using FLASH_ATTN attention backend*", NewLog: "*Using FLASHINFER attention backend*",
	},
	"sglang": {
		Model: "openai/gpt-oss-20b",
		Settings: []string{
			"max_model_len = 8192", "max_num_seqs = 16",
			"enable_prefix_caching = false # prompts are measured, not looked up", "enable_metrics = true",
		},
		Knob: "attention", Old: "triton", New: "fa3",
		OldSet: `attention_backend = "triton"`, NewSet: `attention_backend = "fa3"`,
		OldLog: "*server_args=* attention_backend='triton'*", NewLog: "*server_args=* attention_backend='fa3'*",
	},
	"llamacpp": {
		Model: "model.gguf",
		Settings: []string{
			`gpu_layers = "all"`, "max_model_len = 8192 # of each slot", "max_num_seqs = 4",
			"enable_prefix_caching = false # prompts are measured, not looked up",
		},
		Knob: "attention", Old: "plain", New: "flash",
		OldSet: `attention_backend = "off"`, NewSet: `attention_backend = "on"`,
		OldLog: "*flash_attn * = disabled*", NewLog: "*flash_attn * = enabled*",
	},
	"trtllm": {
		Model: "openai/gpt-oss-20b",
		Settings: []string{
			"max_model_len = 8192", "max_num_seqs = 16",
			"enable_prefix_caching = false # prompts are measured, not looked up",
		},
		Knob: "experts", Old: "cutlass", New: "trtllm",
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
		Model:    "gpt-oss-20b-exl3",
		Process:  `["python", "main.py", "--model-name", "{model}", "--disable-auth", "true", "--port", "{port}"]`,
		Settings: []string{`model_dir = "models"`, "max_model_len = 8192", "max_num_seqs = 16"},
	},
	"openai": {Model: "openai/gpt-oss-20b", Process: `["my-server", "--model", "{model}", "--port", "{port}"]`},
}
