package machine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Document is all that is known of one launch, as stored in the YAML file beside its log.
type Document struct {
	Launch LaunchData `yaml:"launch"`
	Engine EngineData `yaml:"engine"`
	// Host is the machine, see machine.Environment.
	Host map[string]string `yaml:"host"`
	// GPUs are all GPUs of the machine, with their state before the engine started.
	GPUs []GPUState `yaml:"gpus,omitempty"`
	// Software is versions where the engine lives: python, torch, cuda, cudnn, nccl, nvcc.
	Software map[string]string `yaml:"software,omitempty"`
	Model    *Model            `yaml:"model,omitempty"`
	Repos    map[string]Repo   `yaml:"repos,omitempty"`
	// Pages is what the engine reports about itself, by path, as JSON in one line.
	Pages map[string]string `yaml:"pages,omitempty"`
	// Commands is what the plan's own commands printed.
	Commands map[string]string `yaml:"commands,omitempty"`
	Packages []string          `yaml:"packages,omitempty"`
	// Fingerprint is the part of all this that numbers depend on.
	Fingerprint map[string]string `yaml:"fingerprint"`
	// Missing is what could not be found out, and why.
	Missing map[string]string `yaml:"missing,omitempty"`
}

type LaunchData struct {
	ID      string    `yaml:"id"`
	Session string    `yaml:"session,omitempty"`
	Purpose string    `yaml:"purpose"`
	Variant string    `yaml:"variant"`
	Ordinal int       `yaml:"ordinal"`
	Started time.Time `yaml:"started"`
	Boot    string    `yaml:"boot,omitempty"`
	Run     string    `yaml:"run,omitempty"`
	Plan    string    `yaml:"plan,omitempty"`
}

type EngineData struct {
	Kind     string            `yaml:"kind"`
	Launcher string            `yaml:"launcher"`
	Version  string            `yaml:"version,omitempty"`
	Program  string            `yaml:"program,omitempty"`
	Command  []string          `yaml:"command,omitempty"`
	Dir      string            `yaml:"dir,omitempty"`
	Knobs    map[string]string `yaml:"knobs,omitempty"`
	// Env is what the plan sets, Inherited the other variables visible to the engine that
	// such engines react to, Unset those that it does not inherit.
	Env       map[string]string `yaml:"env,omitempty"`
	Inherited map[string]string `yaml:"inherited_env,omitempty"`
	Unset     []string          `yaml:"unset_env,omitempty"`
	// About is what the launcher reports: image and its digest, container, command.
	About map[string]string `yaml:"about,omitempty"`
}

type GPUState struct {
	GPU `yaml:",inline"`
	// Used means that the engine may use it.
	Used bool `yaml:"used"`
	// Unified means that it has no memory of its own.
	Unified bool `yaml:"unified_memory,omitempty"`
	// Throttled is what held its clocks down, nil if nothing did.
	Throttled []string `yaml:"throttled,omitempty"`
}

type Repo struct {
	Path   string `yaml:"path"`
	Commit string `yaml:"commit"`
	Branch string `yaml:"branch,omitempty"`
	// Dirty means that something differs from the commit; Changes counts the files, and
	// Diff is the digest of the difference.
	Dirty   bool   `yaml:"dirty"`
	Changes int    `yaml:"changes,omitempty"`
	Diff    string `yaml:"diff,omitempty"`
}

// Model is the files that the engine serves.
type Model struct {
	Name string `yaml:"name"`
	Path string `yaml:"path,omitempty"`
	// Revision is the snapshot of a Hugging Face cache.
	Revision string `yaml:"revision,omitempty"`
	Files    int    `yaml:"files,omitempty"`
	Bytes    int64  `yaml:"bytes,omitempty"`
	// Digest covers what Covers names: contents, or less of large files.
	Digest string `yaml:"digest,omitempty"`
	Covers string `yaml:"digest_covers,omitempty"`
	// Tokenizer is the digest of the tokenizer's files alone.
	Tokenizer string `yaml:"tokenizer,omitempty"`
	// Config is its config.json; nil if it has none, or if it also has weights of another
	// format, which a config.json does not describe.
	Config []byte `yaml:"-"`
}

func (d *Document) YAML() ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(d); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// Lack notes something that could not be found out.
func (d *Document) Lack(what, why string) {
	d.Missing = put(d.Missing, what, brief(why))
}

func (d *Document) software(name, version string) {
	if version != "" {
		d.Software = put(d.Software, name, version)
	}
}

// brief makes a reason fit on one line.
func brief(why string) string { return foreign.Clean(strings.Join(strings.Fields(why), " ")) }

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// settings of a GPU are in the fingerprint: they change what it can do. Its momentary
// state, such as clocks and temperature, is not.
var settings = map[string]string{
	"power.limit": "power_limit", "persistence_mode": "persistence", "ecc.mode.current": "ecc",
	"mig.mode.current":             "mig",
	"clocks.applications.graphics": "application_clock", "clocks.applications.memory": "application_memory_clock",
	"clocks.max.sm": "max_clock",
}

// fingerprint is what numbers depend on.
func (d *Document) fingerprint(also map[string]string) map[string]string {
	out := map[string]string{}
	put := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	for key, value := range sorted.All(d.Host) {
		// The document lists all GPUs; only those in use count.
		if key != "gpu" && key != "driver" {
			put(key, value)
		}
	}
	var used []GPU
	values := map[string][]string{}
	for _, g := range d.GPUs {
		if !g.Used {
			continue
		}
		used = append(used, g.GPU)
		for field, key := range settings {
			if v := g.Values[field]; v != "" {
				values[key] = append(values[key], v)
			}
		}
	}
	for key, value := range sorted.All(fingerprintOf(used)) {
		put(key, value)
	}
	for key, list := range sorted.All(values) {
		slices.Sort(list)
		put(key, strings.Join(slices.Compact(list), ", "))
	}
	for _, name := range []string{"cuda", "cudnn", "nccl", "nvcc", "python", "torch"} {
		put(name, d.Software[name])
	}
	if len(d.Packages) > 0 {
		sum := sha256.Sum256([]byte(strings.Join(d.Packages, "\n")))
		put("packages", hex.EncodeToString(sum[:]))
	}
	if m := d.Model; m != nil {
		put("model_revision", m.Revision)
		put("weights", m.Digest)
		put("tokenizer", m.Tokenizer)
	}
	for name, r := range sorted.All(d.Repos) {
		put("repo."+name, strings.TrimSuffix(r.Commit+" with "+r.Diff, " with "))
	}
	put("engine_version", d.Engine.Version)
	maps.Copy(out, also)
	return out
}
