package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// usualCommands are the default commands with which executors start workers.
var usualCommands = map[string][]string{
	plans.SSHExecutor:        {"ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "{host}"},
	plans.SlurmExecutor:      {"srun"},
	plans.KubernetesExecutor: {"kubectl"},
}

var executorDoc = &lang.BlockDoc{
	Type: "executor", Times: plans.AtMost1, Labels: []lang.Label{{Name: "kind", Doc: "How launches get there."}},
	Doc: "Where launches run; without it, one after the other. It holds for benchmarks and for `compare` and " +
		"`matrix` steps. With it, rounds (one launch of every arm) run in parallel, each in its own place. Arms are " +
		"compared within their rounds, so places can differ. docs/executors.md has the costs and limits.",
	Kinds: map[string]*lang.BlockDoc{
		plans.LocalExecutor: executorOf(plans.LocalExecutor,
			"Places on this host: its GPUs, or for engines without one how many run at once."),
		plans.SSHExecutor: executorOf(plans.SSHExecutor,
			"Other hosts with a shell. There mxflow copies itself, makes each launch there, client included, and "+
				"brings the result back over the same connection. The plan's folder and the engine must be there "+
				"under the same paths."),
		plans.SlurmExecutor: executorOf(plans.SlurmExecutor,
			"Jobs of Slurm, one per slot, each kept for many launches (`srun`). The plan's folder, the engine and "+
				"mxflow must be on a file system that the nodes share."),
		plans.KubernetesExecutor: executorOf(plans.KubernetesExecutor,
			"Jobs of Kubernetes, one per slot, each kept for many launches. By `kubectl exec`, mxflow starts itself "+
				"in the first container of the Job's pod, which needs a shell, the engine, and the plan's folder "+
				"under the same path."),
	},
}

func executorOf(kind, doc string) *lang.BlockDoc {
	return blockOfKind(kind, plans.Executor{}, lang.BlockDoc{Type: "executor", Times: plans.AtMost1, Doc: doc})
}

func (l *loader) decodeExecutor(blocks hcl.Blocks) {
	b := l.Single(blocks)
	if b == nil {
		return
	}
	before := len(l.Diags)
	kind := b.Labels[0]
	doc := executorDoc.Kinds[kind]
	if doc == nil {
		l.Fail(b.LabelRanges[0], "unknown-reference", "Unknown executor", "There is no executor %q. Use one of %s.",
			kind, strings.Join(lang.KeysOf(executorDoc.Kinds), ", "))
		return
	}
	e := &plans.Executor{PerLaunch: 1}
	f := l.Read(b, doc, e)
	if e.Slots == 0 && (kind == plans.SlurmExecutor || kind == plans.KubernetesExecutor) {
		e.Slots = 1
	}
	if kind == plans.KubernetesExecutor && len(l.Diags) == before {
		var wrong string
		if e.Job, wrong = readJob(e.Job); wrong != "" {
			l.Fail(f.At("job"), "executor", "Not a Kubernetes Job",
				"%s Give one Job (apiVersion: batch/v1, kind: Job) with a container in its template, such as job = "+
					"file(\"job.yaml\").", wrong)
		}
	}
	if len(l.Diags) > before {
		return
	}
	for _, d := range e.Devices {
		if d == "all" || d == "none" {
			l.Fail(f.At("devices"), "executor", "Device by name",
				"%q is not a device. Name each by its index or UUID, such as [\"0\", \"1\"]: they are shared out "+
					"among launches.", d)
		}
	}
	for _, host := range e.Hosts {
		if host == "" || strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \t\n") {
			l.Fail(f.At("hosts"), "executor", "No host",
				"%q is not a host name. Name each as ssh knows it, such as \"gpu-a\" or \"user@gpu-a\".", host)
		}
	}
	_, listed := f.Value("devices")
	if _, own := f.Value("command"); !own {
		e.Command = usualCommands[kind]
	}
	switch {
	case kind == plans.LocalExecutor && !listed && e.Slots == 0:
		l.Fail(b.DefRange, "executor", "Nothing to share out",
			"Name ‹devices = [\"0\", \"1\"]›, or, for engines that use no GPU, how many launches run at once: ‹slots "+
				"= 2›.")
	case listed && len(e.Devices)%e.PerLaunch != 0:
		l.Fail(f.At("per_launch"), "executor", "Devices left over",
			"%d devices cannot be divided into launches of %d. Name %d.", len(e.Devices), e.PerLaunch,
			len(e.Devices)/e.PerLaunch*e.PerLaunch)
	case listed && e.Slots > e.Places():
		l.Fail(f.At("slots"), "executor", "More slots than places",
			"The devices make %d places, but slots is %d. Lower slots, or name more devices.", e.Places(), e.Slots)
	case kind == plans.SSHExecutor &&
		(len(e.Command) == 0 || !strings.Contains(strings.Join(e.Command, " "), "{host}")):
		l.Fail(f.At("command"), "executor", "Command names no host",
			"All hosts would be the same. Write {host} where the host name belongs: [\"ssh\", \"-J\", \"login\", "+
				"\"{host}\"].")
	case kind != plans.LocalExecutor && len(e.Command) == 0:
		l.Fail(f.At("command"), "executor", "No command", "The list is empty. Leave it out for %s.",
			usualCommands[kind][0])
	}
	if e.Slots == 0 && len(l.Diags) == before {
		e.Slots = e.Places()
	}
	l.plan.Executor = e
}

// readJob reads a Kubernetes Job as JSON, or tells what is wrong with it. All else is
// left to the cluster.
func readJob(text string) (job, wrong string) {
	var o struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Spec       struct {
			Template struct {
				Spec struct{ Containers []struct{ Name string } }
			}
		}
	}
	var all map[string]any
	documents := yaml.NewDecoder(strings.NewReader(text))
	var written yaml.Node
	err := documents.Decode(&written)
	if err == nil {
		err = errors.Join(written.Decode(&o), written.Decode(&all))
	}
	switch more := documents.Decode(&yaml.Node{}); {
	case errors.Is(err, io.EOF):
		return "", "There is none."
	case err != nil:
		return "", fmt.Sprintf("It cannot be read: %s.", strings.TrimPrefix(err.Error(), "yaml: "))
	case !errors.Is(more, io.EOF):
		return "", "It holds several documents."
	case o.APIVersion != "batch/v1" || o.Kind != "Job":
		return "", fmt.Sprintf("It is of apiVersion %q and kind %q.", o.APIVersion, o.Kind)
	case len(o.Spec.Template.Spec.Containers) == 0 || o.Spec.Template.Spec.Containers[0].Name == "":
		return "", "It has no container with a name."
	}
	encoded, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Sprintf("It is not JSON: %s.", err)
	}
	return string(encoded), ""
}

// checkExecutor checks whether engines can run in several places: the one under test, and
// those that are compared, some of which may have one place.
func (l *loader) checkExecutor() {
	x, under := l.plan.Executor, l.plan.UnderTest()
	if x == nil {
		return
	}
	refuse := func(summary, format string, args ...any) {
		l.Fail(lang.HCL(x.Range), "executor", summary, format, args...)
	}
	compared := map[string]bool{}
	for _, ph := range l.plan.Phases {
		for _, step := range ph.Steps {
			if list, ok := step.Attrs["engines"].([]any); ok && step.Kind == plans.CompareStep {
				for _, name := range list {
					compared[fmt.Sprint(name)] = true
				}
			}
		}
	}
	const onePlace, here = "Engine that has one place", "Cannot be launched elsewhere"
	for _, e := range l.plan.Engines {
		name := e.Kind + "." + e.Name
		if x.IsRemote() && e.Launch != nil && e.Launch.Kind == "docker" {
			refuse(here,
				"Engine %s is launched by docker, but executor %q launches only processes. Launch it as a process; a "+
					"container around the whole job is an argument of srun (--container-image), or the image of the "+
					"Job.", name, x.Kind)
		}
		for _, part := range []string{"source", "caches", "tree"} {
			if x.IsRemote() && len(e.Parts[part]) > 0 {
				refuse(here,
					"Engine %s has a %s block, which is built in the state directory of this host. Build it where "+
						"all hosts see it, and remove the block.", name, part)
			}
		}
		if e != under && !compared[name] {
			continue
		}
		if (e == under || x.IsRemote()) && e.Launch != nil &&
			slices.Contains([]string{"endpoint", "compose", "exec"}, e.Launch.Kind) {
			refuse(onePlace,
				"Engine %s is launched by %s, which has only one place. Remove the executor, or launch the engine as "+
					"a process or by docker.", name, e.Launch.Kind)
		}
		if len(x.Devices) > 0 && len(e.Parts["gpu"]) > 0 && e.Parts["gpu"][0].Attrs["devices"] != nil {
			refuse(onePlace,
				"Both the executor and the gpu block of engine %s say which GPUs it uses. Remove devices there.", name)
		}
		for _, variable := range []string{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"} {
			if _, own := e.Env[variable]; own && (len(x.Devices) > 0 || x.GRES != "") {
				refuse(onePlace, "Both the executor and %s of engine %s say which GPUs it uses. Remove that from env.",
					variable, name)
			}
		}
	}
	for _, k := range l.plan.Knobs {
		for _, v := range k.Values {
			if x.IsRemote() && len(v.Parts["source"]) > 0 {
				refuse(here,
					"Value %s of knob %s has a source block, which is built in the state directory of this host. "+
						"Build it where all hosts see it, and refer to it by command or env.", v.Name, k.Name)
			}
		}
	}
}
