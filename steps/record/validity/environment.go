package validity

import (
	"maps"
	"regexp"
	"slices"

	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// OtherEnvironment is why launches were not made in one environment; no fact if they
// were. It covers launches of an earlier apply: a baseline from another environment is
// not a baseline. Entries that the plan accepts may differ, and between arms those that a
// knob under test changes.
func (j *Checker) OtherEnvironment(launches []*ledger.Launch, vs []*variant.Variant) verdict.Reason {
	for _, launch := range launches {
		if i := slices.IndexFunc(launch.Notes, func(n verdict.Reason) bool {
			return n.Kind == code.GPUShared.Kind
		}); i >= 0 {
			return verdict.New(code.LaunchSays).On(launch.ID).From(launch.Notes[i])
		}
		if len(launch.Fingerprint) == 0 {
			return verdict.Say("environment.unknown",
				"launch {subject} has no fingerprint of its environment, so it cannot be compared; --rerun "+
					"measures again").On(launch.ID)
		}
	}
	byArm := byKey(launches)
	accepted := j.Launches.Variants.AcceptedEntries()
	for _, v := range vs {
		for _, launch := range byArm[v.Key] {
			if entries := differs(byArm[v.Key][0], launch, accepted); len(entries) > 0 {
				return verdict.New(code.EnvironmentChanged).On(v.Name).From(entries...)
			}
		}
	}
	for _, v := range vs[1:] {
		one, other := byArm[vs[0].Key], byArm[v.Key]
		if len(one) == 0 || len(other) == 0 {
			continue
		}
		if entries := differs(one[0], other[0], slices.Concat(accepted, j.changedEntries(vs[0], v))); len(entries) > 0 {
			return verdict.New(code.EnvironmentApart, verdict.Text("other", v.Name)).On(vs[0].Name).From(entries...)
		}
	}
	return verdict.Reason{}
}

var longDigest = regexp.MustCompile(`\b[0-9a-f]{40,64}\b`)

// differs are the entries in which two launches differ; an entry that one of them
// lacks differs from any value.
func differs(one, other *ledger.Launch, free []string) (found []verdict.Reason) {
	short := func(entry string) string { // its digests remain distinguishable
		return longDigest.ReplaceAllStringFunc(entry, func(digest string) string { return digest[:12] })
	}
	names := slices.Sorted(maps.Keys(one.Fingerprint))
	for name := range maps.Keys(other.Fingerprint) {
		if _, both := one.Fingerprint[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if one.Fingerprint[name] == other.Fingerprint[name] || variant.IsFree(name, free) {
			continue
		}
		args := []verdict.Arg{verdict.Text("one", one.ID), verdict.Text("other", other.ID)}
		if v, ok := one.Fingerprint[name]; ok {
			args = append(args, verdict.Text("value", short(v)))
		}
		if v, ok := other.Fingerprint[name]; ok {
			args = append(args, verdict.Text("other_value", short(v)))
		}
		found = append(found, verdict.Say("environment.entry",
			"{subject} is {value}{value!unknown} in launch {one} and {other_value}{other_value!unknown} in "+
				"launch {other}",
			args...).On(name))
	}
	return found
}

// What changes with an image, and with the Python that a program runs on.
var (
	pythonEntries = []string{"packages", "python", "torch", "cuda", "cudnn", "nccl", "engine_version"}
	imageEntries  = append([]string{"image", "nvcc"}, pythonEntries...)
	sourceEntries = append([]string{plans.AcceptRepos}, pythonEntries...)
	modelEntries  = []string{"weights", "model_revision", "tokenizer"}
	gpuEntries    = []string{
		"gpu", "power_limit", "persistence", "ecc", "mig", "application_clock",
		"application_memory_clock", "max_clock",
	}
)

// changedEntries are the entries changed by knobs whose values differ between two arms:
// that is what is under test.
func (j *Checker) changedEntries(one, other *variant.Variant) (free []string) {
	for _, k := range j.Launches.Variants.Plan.Knobs {
		if one.Knobs[k.Name] == other.Knobs[k.Name] {
			continue
		}
		for _, v := range []*plans.KnobValue{k.Value(one.Knobs[k.Name]), k.Value(other.Knobs[k.Name])} {
			if v != nil && v.Image != "" {
				free = append(free, imageEntries...)
			}
			if v != nil && len(v.Parts["source"]) > 0 {
				free = append(free, sourceEntries...)
			}
		}
	}
	if one.Engine != other.Engine {
		// Engines are compared as a whole: only the machine must be the same.
		free = slices.Concat(free, imageEntries, sourceEntries, modelEntries)
	}
	x, y := one.Spec, other.Spec
	e := j.Launches.Variants.Plan.Engine(one.Engine)
	if variant.ModelOf(x, e) != variant.ModelOf(y, j.Launches.Variants.Plan.Engine(other.Engine)) ||
		variant.FlagOf(x.Command, "--revision") != variant.FlagOf(y.Command, "--revision") {
		free = append(free, modelEntries...)
	}
	program := len(x.Command) > 0 && len(y.Command) > 0 && x.Command[0] != y.Command[0]
	for _, name := range []string{"PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"} {
		program = program || x.Env[name] != y.Env[name]
	}
	if program {
		free = append(free, pythonEntries...)
	}
	for _, name := range machine.SelectingVariables() {
		if x.Env[name] != y.Env[name] {
			free = append(free, gpuEntries...)
		}
	}
	return free
}

// AcceptedParts is what the plan accepts, as part of a decision key; nothing if it
// accepts nothing.
func (j *Checker) AcceptedParts() []any {
	if accepted := j.Launches.Variants.AcceptedEntries(); len(accepted) > 0 {
		return []any{"accepted", accepted}
	}
	return nil
}
