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

// mostSlots bounds the launches that run at once.
const mostSlots = 64

// usualCommands are the default commands with which executors start workers.
var usualCommands = map[string][]string{
	plans.SSHExecutor:        {"ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "{host}"},
	plans.SlurmExecutor:      {"srun"},
	plans.KubernetesExecutor: {"kubectl"},
}

// Attributes of several kinds of executor.
var (
	perLaunchAttr = plans.Attr{Name: "per_launch", Type: plans.Int, Default: 1.0, Unit: "GPUs", Min: 1, MinSet: true, Max: mostSlots, Doc: "How many of them each launch gets, adjacent by index: as many as `tensor_parallel_size` and similar settings need."}
	programAttr   = plans.Attr{Name: "mxflow", Type: plans.String, Doc: "Path of mxflow on the other machine, which must be the same file, byte for byte."}
)

var executorLabels = []lang.Label{{Name: "kind", Doc: "How launches get there."}}

var executorDoc = &lang.BlockDoc{
	Type: "executor", Times: plans.AtMost1,
	Labels: executorLabels,
	Doc:    "Where the launches of benchmarks, and of `compare` and `matrix` steps, run. Without it they run one after the other. With it, rounds (one launch of every arm) run in parallel, each in its own place. Arms are compared within their rounds, so places can differ. docs/executors.md has the costs and limits.",
	Kinds: map[string]*lang.BlockDoc{
		plans.LocalExecutor: {
			Type: "executor", Times: plans.AtMost1, Labels: executorLabels,
			Doc: "Places on this host: GPUs, and CPUs of the same NUMA node.",
			Attrs: []plans.Attr{
				{Name: "devices", Type: plans.Strings, Doc: "GPUs to share out, by index or UUID as nvidia-smi shows them. They must be the same model. Without it only CPUs are shared out, for engines that use no GPU."},
				perLaunchAttr,
				{Name: "slots", Type: plans.Int, Unit: "launches", Min: 1, MinSet: true, Max: mostSlots, Doc: "How many launches run at once. Without it, one per place. Neighbours share memory bandwidth, PCIe and power: fewer slots than devices leave some idle, in turn."},
				{Name: "bind", Type: plans.Bool, Default: true, Doc: "Give each place its own CPUs, near its GPUs where that is known. The engine gets them; mxflow's client uses all CPUs."},
			},
			Example: `executor "local" {
  devices = ["0", "1", "2", "3"]
}`,
		},
		plans.SSHExecutor: {
			Type: "executor", Times: plans.AtMost1, Labels: executorLabels,
			Doc: "Other hosts with a shell. mxflow copies itself there, makes each launch there, client included, and brings the result back over the same connection. The plan's folder and the engine must be there under the same paths.",
			Attrs: []plans.Attr{
				{Name: "hosts", Type: plans.Strings, Required: true, Doc: "Names as ssh knows them. Login must work without a prompt."},
				{Name: "devices", Type: plans.Strings, Doc: "GPUs of each host, by index. Without it, a host is one place."},
				perLaunchAttr,
				{Name: "command", Type: plans.Strings, Doc: "Command that runs what follows it on `{host}`, with its input and output. Without it: `ssh -o BatchMode=yes -o ServerAliveInterval=15 {host}`."},
				programAttr,
			},
			Example: `executor "ssh" {
  hosts   = ["gpu-a", "gpu-b"]
  devices = ["0", "1"]
}`,
		},
		plans.SlurmExecutor: {
			Type: "executor", Times: plans.AtMost1, Labels: executorLabels,
			Doc: "Jobs of Slurm, one per slot, each kept for many launches (`srun`). The plan's folder, the engine and mxflow must be on a file system that the nodes share.",
			Attrs: []plans.Attr{
				{Name: "slots", Type: plans.Int, Default: 1.0, Unit: "jobs", Min: 1, MinSet: true, Max: mostSlots, Doc: "How many jobs run at once, each on its own devices."},
				{Name: "partition", Type: plans.String, Doc: "Partition. Without it, Slurm's default."},
				{Name: "account", Type: plans.String, Doc: "Account to charge."},
				{Name: "gres", Type: plans.String, Doc: "Devices of each job, such as `gpu:h100:1`."},
				{Name: "time", Type: plans.String, Doc: "Time limit of each job, as Slurm writes it: `2:00:00`. A job that reaches it loses its current launch, and another job continues."},
				{Name: "args", Type: plans.Strings, Doc: "More arguments of srun, such as `--cpus-per-task=16`, `--exclusive` or `--container-image=…`."},
				{Name: "command", Type: plans.Strings, Doc: "Command instead of srun, with the same arguments."},
				programAttr,
			},
			Example: `executor "slurm" {
  partition = "gpu"
  gres      = "gpu:1"
  time      = "4:00:00"
  slots     = 4
  args      = ["--cpus-per-task=16"]
}`,
		},
		plans.KubernetesExecutor: {
			Type: "executor", Times: plans.AtMost1, Labels: executorLabels,
			Doc: "Jobs of Kubernetes, one per slot, each kept for many launches. mxflow starts itself in the first container of the Job's pod (`kubectl exec`), which needs a shell, the engine, and the plan's folder under the same path.",
			Attrs: []plans.Attr{
				{Name: "job", Type: plans.String, Required: true, Doc: "The Job, as YAML or JSON, usually from a file: `file(\"job.yaml\")`. Its image, devices, volumes, queue, namespace and time limit are used unchanged. mxflow sets name, labels, the command of the first container, and that no pod is restarted."},
				{Name: "slots", Type: plans.Int, Default: 1.0, Unit: "jobs", Min: 1, MinSet: true, Max: mostSlots, Doc: "How many Jobs run at once, each on its own devices."},
				{Name: "command", Type: plans.Strings, Doc: "Command instead of `kubectl`, with the same arguments: `[\"kubectl\", \"--context=gpu\"]`."},
				{Name: "mxflow", Type: plans.String, Doc: "Path of mxflow in the container, which must be the same file, byte for byte. Without it, mxflow is copied there."},
			},
			Example: `executor "kubernetes" {
  job   = file("job.yaml")
  slots = 4
}`,
		},
	},
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
		l.Fail(b.LabelRanges[0], "unknown-reference", "Unknown executor", "There is no executor %q. Use one of %s.", kind, strings.Join(lang.KeysOf(executorDoc.Kinds), ", "))
		return
	}
	f := l.Fields(b, doc)
	e := &plans.Executor{
		Kind: kind, Devices: f.Texts("devices"), PerLaunch: max(1, f.Whole("per_launch")), Slots: f.Whole("slots"), Bind: f.Truth("bind"), Range: lang.RangeOf(b.DefRange),
		Hosts: f.Texts("hosts"), Partition: f.Text("partition"), Account: f.Text("account"), GRES: f.Text("gres"), Time: f.Text("time"),
		Job: f.Text("job"), Command: f.Texts("command"), Args: f.Texts("args"), Program: f.Text("mxflow"),
	}
	if kind == plans.KubernetesExecutor && len(l.Diags) == before {
		var wrong string
		if e.Job, wrong = readJob(e.Job); wrong != "" {
			l.Fail(f.At("job"), "executor", "Not a Kubernetes Job", "%s Give one Job (apiVersion: batch/v1, kind: Job) with a container in its template, such as job = file(\"job.yaml\").", wrong)
		}
	}
	if len(l.Diags) > before {
		return
	}
	seen := map[string]bool{}
	for _, d := range e.Devices {
		if d == "all" || d == "none" {
			l.Fail(f.At("devices"), "executor", "Device by name", "%q is not a device. Name each by its index or UUID, such as [\"0\", \"1\"]: they are shared out among launches.", d)
		}
		if seen[d] {
			l.Fail(f.At("devices"), "duplicate-name", "Duplicate device", "%q is already in the list. Remove one.", d)
		}
		seen[d] = true
	}
	for i, host := range e.Hosts {
		switch {
		case host == "" || strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \t\n"):
			l.Fail(f.At("hosts"), "executor", "No host", "%q is not a host name. Name each as ssh knows it, such as \"gpu-a\" or \"user@gpu-a\".", host)
		case slices.Contains(e.Hosts[:i], host):
			l.Fail(f.At("hosts"), "duplicate-name", "Duplicate host", "%q is already in the list. Remove one; for several places on a host use devices.", host)
		}
	}
	_, listed := f.Value("devices")
	if _, own := f.Value("command"); !own {
		e.Command = usualCommands[kind]
	}
	switch {
	case listed && len(e.Devices) == 0:
		l.Fail(f.At("devices"), "executor", "No devices", "The list is empty. Name GPUs, such as [\"0\", \"1\"], or leave it out to share out only CPUs.")
	case kind == plans.LocalExecutor && !listed && e.Slots == 0:
		l.Fail(b.DefRange, "executor", "Nothing to share out", "Name devices = [\"0\", \"1\"], or, with CPUs only, how many launches run at once: slots = 2.")
	case listed && len(e.Devices)%e.PerLaunch != 0:
		l.Fail(f.At("per_launch"), "executor", "Devices left over", "%d devices cannot be divided into launches of %d. Name %d.", len(e.Devices), e.PerLaunch, len(e.Devices)/e.PerLaunch*e.PerLaunch)
	case !listed && e.PerLaunch != 1:
		l.Fail(f.At("per_launch"), "executor", "GPUs of no devices", "per_launch counts GPUs, but devices names none. Add devices, or remove it.")
	case listed && e.Slots > e.Places():
		l.Fail(f.At("slots"), "executor", "More slots than places", "The devices make %d places, but slots is %d. Lower slots, or name more devices.", e.Places(), e.Slots)
	case kind == plans.SSHExecutor && len(e.Hosts) == 0:
		l.Fail(f.At("hosts"), "executor", "No hosts", "The list is empty. Name hosts as ssh knows them, such as [\"gpu-a\"].")
	case kind == plans.SSHExecutor && (len(e.Command) == 0 || !strings.Contains(strings.Join(e.Command, " "), "{host}")):
		l.Fail(f.At("command"), "executor", "Command names no host", "All hosts would be the same. Write {host} where the host name belongs: [\"ssh\", \"-J\", \"login\", \"{host}\"].")
	case kind != plans.LocalExecutor && len(e.Command) == 0:
		l.Fail(f.At("command"), "executor", "No command", "The list is empty. Leave it out for %s.", usualCommands[kind][0])
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
	if x.Elsewhere() {
		l.checkElsewhere(refuse)
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
	const onePlace = "Engine that has one place"
	for _, e := range l.plan.Engines {
		name := e.Kind + "." + e.Name
		if e != under && !compared[name] {
			continue
		}
		if (e == under || x.Elsewhere()) && e.Launch != nil && slices.Contains([]string{"endpoint", "compose", "exec"}, e.Launch.Kind) {
			refuse(onePlace, "Engine %s is launched by %s, which has only one place. Remove the executor, or launch the engine as a process or by docker.", name, e.Launch.Kind)
		}
		if len(x.Devices) > 0 && len(e.Parts["gpu"]) > 0 && e.Parts["gpu"][0].Attrs["devices"] != nil {
			refuse(onePlace, "Both the executor and the gpu block of engine %s say which GPUs it uses. Remove devices there.", name)
		}
		if _, own := e.Env["CUDA_VISIBLE_DEVICES"]; own && (len(x.Devices) > 0 || x.GRES != "") {
			refuse(onePlace, "Both the executor and CUDA_VISIBLE_DEVICES of engine %s say which GPUs it uses. Remove that from env.", name)
		}
	}
}

// checkElsewhere refuses what works on this machine alone.
func (l *loader) checkElsewhere(refuse func(summary, format string, args ...any)) {
	const here = "Cannot be launched elsewhere"
	for _, e := range l.plan.Engines {
		name := e.Kind + "." + e.Name
		if e.Launch != nil && e.Launch.Kind == "docker" {
			refuse(here, "Engine %s is launched by docker, but executor %q launches only processes. Launch it as a process; a container around the whole job is an argument of srun (--container-image), or the image of the Job.", name, l.plan.Executor.Kind)
		}
		for _, part := range []string{"source", "caches", "tree"} {
			if len(e.Parts[part]) > 0 {
				refuse(here, "Engine %s has a %s block, which is built in the state directory of this host. Build it where all hosts see it, and remove the block.", name, part)
			}
		}
	}
	for _, k := range l.plan.Knobs {
		for _, v := range k.Values {
			if len(v.Parts["source"]) > 0 {
				refuse(here, "Value %s of knob %s has a source block, which is built in the state directory of this host. Build it where all hosts see it, and refer to it by command or env.", v.Name, k.Name)
			}
		}
	}
}
