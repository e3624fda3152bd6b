// Package plans is the model of a loaded plan: its engines, knobs, workloads with their
// cells, phases and features, the inputs of compiled rules and how they are decided, and
// its digest. It also defines the form in which levels, steps and engine kinds declare
// their blocks (Registry). It knows nothing of files, syntaxes and expressions:
// plans/load makes plans, and no HCL type reaches their users.
package plans

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure/imported"
)

// Plan is a decoded, checked plan. Everything in it is resolved: variables and
// locals are gone, references are names that exist.
type Plan struct {
	Name    string `hcl:"name,label" doc:"Its name, part of file names. Letters, digits and '_ . -'."`
	Summary string `hcl:"summary,optional" doc:"Purpose of the effort, in one sentence."`
	// Require are attributes and blocks that no feature may lack.
	Require []string `json:"-" hcl:"require,optional" oneof:"hypothesis|improve|notes" doc:"What no feature may lack: 'validate' reports one without it. It is not part of any digest."`
	// File is the path as given; Dir is its folder.
	File string `json:"-"`
	Dir  string `json:"-"`

	Variables []*Variable
	Engines   []*Engine
	Knobs     []*Knob
	Workloads []*Workload
	Suites    []*Suite
	// Suite is the name of the chosen suite (--suite), empty to send what the benchmark
	// itself names.
	Suite     string
	Protocols []*Protocol
	Targets   []*Target
	Imported  []*Imported
	Baseline  *Baseline
	// Executor is nil if the plan has none.
	Executor *Executor `json:",omitempty"`
	// Decision is never nil after Load.
	Decision *Decision `json:",omitempty"`
	Phases   []*Phase
	// Watch is nil if the plan does not say what a watch asks.
	Watch *Watch `json:"-"`
	// Tables are what the plan's report block shows, Reads the metrics that its rules, hypotheses
	// and targets read: what tables show without one.
	Tables []*Table  `json:"-"`
	Reads  []*Column `json:"-"`

	Range Range `json:"-"`

	// Hidden are the sensitive texts that a load encountered; see Secrets.
	Hidden []string `json:"-"`

	// gateRules are the rules of gates by the features that they read; nil before IndexRules.
	gateRules map[string][]*Rule
}

// IndexRules has GateRules looked up from now on: rules do not change once they are compiled.
func (p *Plan) IndexRules() { p.gateRules = p.rulesByFeature() }

// GateRules are the rules of gates that read something of a feature, in the plan's order.
func (p *Plan) GateRules(feature string) []*Rule {
	if p.gateRules != nil {
		return p.gateRules[feature]
	}
	return p.rulesByFeature()[feature]
}

func (p *Plan) rulesByFeature() map[string][]*Rule {
	by := map[string][]*Rule{}
	for _, ph := range p.Phases {
		if ph.Gate == nil {
			continue
		}
		for _, r := range ph.Gate.Rules {
			for _, in := range r.Inputs() {
				if !slices.Contains(by[in.Feature], r) {
					by[in.Feature] = append(by[in.Feature], r)
				}
			}
		}
	}
	return by
}

// Secrets are the sensitive texts that a load encountered, including those computed from
// sensitive values. The plan keeps them in what it starts (env, args, settings, command);
// everything else must remove them (see internal/redact).
func (p *Plan) Secrets() []string { return slices.Clone(p.Hidden) }

// Engine is the engine "kind.name", nil if the plan has none.
func (p *Plan) Engine(key string) *Engine {
	return Find(p.Engines, func(e *Engine) bool { return e.Kind+"."+e.Name == key })
}

// Knob is the knob of that name, nil if the plan has none.
func (p *Plan) Knob(name string) *Knob {
	return Find(p.Knobs, func(k *Knob) bool { return k.Name == name })
}

// Value is the knob's value of that name, nil if it has none.
func (k *Knob) Value(name string) *KnobValue {
	return Find(k.Values, func(v *KnobValue) bool { return v.Name == name })
}

// Workload is the workload of that name, nil if the plan has none.
func (p *Plan) Workload(name string) *Workload {
	return Find(p.Workloads, func(w *Workload) bool { return w.Name == name })
}

// Protocol is the protocol of that name, nil if the plan has none.
func (p *Plan) Protocol(name string) *Protocol {
	return Find(p.Protocols, func(q *Protocol) bool { return q.Name == name })
}

// Phase is the phase of that name, nil if the plan has none.
func (p *Plan) Phase(name string) *Phase {
	return Find(p.Phases, func(ph *Phase) bool { return ph.Name == name })
}

// Feature is the feature of that name in any phase, nil if the plan has none.
func (p *Plan) Feature(name string) *Feature {
	if name == "" {
		return nil // as most are a confirmation of none
	}
	for _, ph := range p.Phases {
		if f := Find(ph.Features, func(f *Feature) bool { return f.Name == name }); f != nil {
			return f
		}
	}
	return nil
}

// Features lists the features of all phases, in the order of the plan.
func (p *Plan) Features() (list []*Feature) {
	for _, ph := range p.Phases {
		list = append(list, ph.Features...)
	}
	return list
}

// Rules are all criteria and rules of gates, in the order of the plan.
func (p *Plan) Rules() (list []*Rule) {
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			list = append(list, f.Criteria...)
		}
		if ph.Gate != nil {
			list = append(list, ph.Gate.Rules...)
		}
	}
	return list
}

func Names[T any](list []T, name func(T) string) (names []string) {
	for _, e := range list {
		names = append(names, name(e))
	}
	return names
}

func NamesOf(rules []*Rule) []string { return Names(rules, func(r *Rule) string { return r.Name }) }

func (k *Knob) ValueNames() []string {
	return Names(k.Values, func(v *KnobValue) string { return v.Name })
}

// Find is the first element that fits, nil if none does. Plans are small; callers that
// look up often make their own map.
func Find[T any](list []*T, fits func(*T) bool) *T {
	for _, e := range list {
		if fits(e) {
			return e
		}
	}
	return nil
}

// Variable is an input of the plan with the value it has in this load.
type Variable struct {
	Name        string   `hcl:"name,label" doc:"Its name in expressions: 'var.<name>'."`
	Description string   `hcl:"description,optional" doc:"Its purpose."`
	_           struct{} `hcl:"type,optional" type:"type" doc:"A type, such as 'number' or 'list(string)'. Also 'string', 'bool', 'map(number)' and 'object({ … })', whose attributes can be 'optional(type, default)'. Without it, any type, and '--var n=2' is a number if the default is one (a bool likewise)."`
	_           struct{} `hcl:"default,optional" type:"anything" doc:"The value if none is given. It cannot refer to anything."`
	// Value is the value in use, as plain data (string, float64, bool, list,
	// map); nil for a sensitive one.
	Value any
	// From is where the value comes from: "default", "MXFLOW_VAR_name", the name of a
	// file, or "--var".
	From      string
	Sensitive bool  `json:",omitempty" hcl:"sensitive,optional" default:"false" doc:"Redacts the value wherever mxflow writes. It redacts everything computed from it too, in logs, records, reports and messages. It has no default: secrets do not belong in a plan file."`
	Range     Range `json:"-"`
}

// Baseline is the variant with every knob at its default (or as Set says).
type Baseline struct {
	// Engine is "kind.name".
	Engine   string            `hcl:"engine" ref:"engine" needs:"the engine under test, such as engine.kind.name." doc:"The engine under test."`
	Protocol string            `hcl:"protocol" ref:"protocol" needs:"the tests for it, such as protocol.name." doc:"The levels for it, and for features without a protocol."`
	Set      map[string]string `hcl:"set,optional" type:"map of knobs to their values" doc:"Knobs that are not at their default."`
	// AcceptFingerprint are entries of the environment in which launches may
	// differ, see FingerprintEntries.
	AcceptFingerprint []string `json:",omitempty" hcl:"accept_fingerprint,optional" doc:"Fingerprint entries that can differ between launches, such as 'driver'. Their change needs no new measurement. Others are 'kernel', 'packages' and 'repo.vllm'; 'repo.*' is all source trees, 'all' everything."`
	Range             Range    `json:"-"`
}

const (
	// AcceptAll accepts every difference of fingerprints, AcceptRepos those of all
	// source trees.
	AcceptAll   = "all"
	AcceptRepos = "repo.*"
)

// FingerprintEntries are the entries of a launch's environment fingerprint, besides
// repo.<name> for each source tree that the plan names.
var FingerprintEntries = []string{
	"application_clock", "application_memory_clock", "arch", "arch_level", "cores", "cpu", "cpu_limit", "cuda",
	"cudnn", "driver",
	"ecc", "engine_version", "gpu", "host", "image", "kernel", "max_clock", "mem_gib", "mig", "model_revision",
	"nccl", "nvcc", "os",
	"packages", "persistence", "power_limit", "priority", "python", "tokenizer", "torch", "weights",
}

// UnderTest is the engine that everything is compared on; nil if the plan names none.
func (p *Plan) UnderTest() *Engine {
	if p.Baseline == nil {
		return nil
	}
	return p.Engine(p.Baseline.Engine)
}

// Target is a number to beat, measured elsewhere.
type Target struct {
	Name    string `hcl:"name,label" doc:"Its name in rules: 'target.<name>.<workload>[.<cell>].<metric>'."`
	Tool    string `hcl:"tool,optional" doc:"The tool that measured them, with its version."`
	Summary string `hcl:"summary,optional" doc:"Where and how, in one sentence."`
	// Metrics maps a workload or cell to a metric to its value, as written.
	Metrics map[string]map[string]float64 `hcl:"metrics" type:"map of workloads to maps of metrics to numbers" needs:"the numbers to beat by workload, such as { chat = { tg = 57.85 } }." doc:"Numbers to beat: 'chat = { tg = 57.85 }'. They are by workload and metric. Each is in the metric's unit. Where the workload has several cells, by cell, '\"chat.o24\" = { tg = 57.85 }', or by the field's name, 'chat = { tg24 = 57.85 }'. Those of an engine of kind 'command' go under 'command', with labels under the cell, '\"command.tp7\" = { tg = 57.85 }'."`
	// Measured maps a number as rules write it ("chat.tg24") to the addresses under which
	// launches keep its metric: one for each cell that it may belong to ("chat.o24.tg").
	Measured map[string][]string `json:"-"`
	Range    Range               `json:"-"`
}

// Imported is the result file of another tool, whose numbers rules may read like those of
// a target. They keep the tool's definitions, and do not count as launches.
type Imported struct {
	Name    string `hcl:"name,label" doc:"Its name in rules: 'imported.<name>.<cell>.<metric>.<stat>'."`
	Summary string `hcl:"summary,optional" doc:"Where and how it was measured, in one sentence."`
	// File is as the plan has it; Digest is the SHA-256 of its content, in
	// hexadecimal.
	File   string `hcl:"file" needs:"the path of a result file, such as \"results/llama-benchy.json\"." doc:"Path of the file, relative to the plan's folder. Its content shows which tool wrote it; a damaged file is an error. The file's content is part of the plan."`
	Digest string
	JQ     string         `hcl:"jq,optional" json:",omitempty" doc:"jq program that makes rows of any JSON. It replaces the tool's reader, as in '.runs[] | {workload: .name, metric: \"tg\", value: .tok_s, unit: \"tok/s\"}'."`
	Result *imported.File `json:"-"`
	Range  Range          `json:"-"`
}

// Phase is a set of steps and feature ports behind one gate.
type Phase struct {
	Name         string   `hcl:"name,label" doc:"Its name in references: 'phase.<name>'."`
	Summary      string   `hcl:"summary,optional" doc:"Its purpose, in one sentence."`
	After        []string `hcl:"after,optional" ref:"phase" doc:"Phases whose gate must pass, or be waived, first."`
	AfterDecided []string `hcl:"after_decided,optional" ref:"phase" doc:"Phases whose gate must be decided first, whatever the verdict. Pass, fail and inconclusive count as decided."`
	Steps        []*Block
	Features     []*Feature
	// Gate is nil for a phase that passes when its steps and features pass.
	Gate  *Gate
	Range Range `json:"-"`
}

// ReadsBaseline reports whether the gate reads what levels found about the baseline.
func (ph *Phase) ReadsBaseline() bool {
	if ph.Gate == nil {
		return false
	}
	return slices.ContainsFunc(ph.Gate.Rules, func(r *Rule) bool {
		return slices.ContainsFunc(r.Inputs(), func(in *Input) bool { return in.Row != nil && *in.Row == BaselineRow })
	})
}

// Gate is a phase's exit rule.
type Gate struct {
	Rules []*Rule
	Range Range `json:"-"`
}

// NamedFile is a file beside the plan whose content counts as the plan's own.
type NamedFile struct {
	// Name is the file's path in the form used for the plan's own files: it starts with
	// the plan's folder as given. Path is absolute.
	Name, Path string
	// Digest is the SHA-256 of the content that was read, in hexadecimal.
	Digest string
}

// NamedFiles are the files whose numbers rules read and the files that workloads
// send, each once.
func (p *Plan) NamedFiles() []NamedFile {
	var files []NamedFile
	seen := map[string]bool{}
	add := func(path, digest string) {
		if path == "" || digest == "" || seen[path] {
			return
		}
		seen[path] = true
		files = append(files, NamedFile{p.nameOf(path), path, digest})
	}
	for _, i := range p.Imported {
		add(p.Abs(i.File), i.Digest)
	}
	for _, w := range p.Workloads {
		if w.Data != nil {
			add(w.Data.File, w.Data.Digest)
		}
		if w.Trace != nil {
			add(w.Trace.File, w.Trace.Digest)
		}
	}
	return files
}

func (p *Plan) nameOf(path string) string {
	if dir, err := filepath.Abs(p.Dir); err == nil {
		if name, err := filepath.Rel(dir, path); err == nil {
			path = filepath.Join(p.Dir, name)
		}
	}
	return filepath.ToSlash(path)
}

// Inputs are what a load took from outside the plan's own files: with them, the same
// files give the same plan again. A run records them.
type Inputs struct {
	// Suite is the suite of workloads chosen on the command line.
	Suite string `json:"suite,omitempty"`
	// Question is HCL that is asked in place of the plan's own baseline and phases; empty
	// if none is.
	Question string `json:"question,omitempty"`
	// Launches is the maximum per arm in place of what benchmarks set, unless it is 0.
	Launches int `json:"launches,omitempty"`
	// Variables are the values given to variables, by --var, a variable file or the
	// environment, as a plan would write them; others had their default. Env is what env()
	// found in the environment.
	Variables map[string]string `json:"variables,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	// Sealed are, as "var.key" and "env.TOKEN", the inputs that are sensitive or part of
	// something sensitive. A record has none of their values, but marks made with a key
	// that does not leave the state directory, which distinguish values without revealing
	// them. A load has no marks.
	Sealed map[string]string `json:"sealed,omitempty"`
}

// Private reports whether an input belongs in no record.
func (in *Inputs) Private(name string) bool {
	_, private := in.Sealed[name]
	return private
}

// Pos is a position in a source file; lines and columns count from 1, bytes
// from 0.
type Pos struct{ Line, Column, Byte int }

// Range is the place of something in a plan.
type Range struct {
	File       string
	Start, End Pos
}

// Path is a path of the plan, resolved: relative ones start at the plan's folder, ~ is
// the home folder.
func (p *Plan) Path(path string) string {
	if path = Home(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Dir, path)
}

// Abs is Path as an absolute path, for programs that run in another folder.
func (p *Plan) Abs(path string) string {
	path = p.Path(path)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Home is a path with a leading ~ expanded to the home folder.
func Home(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && !strings.HasPrefix(rest, "/") {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
