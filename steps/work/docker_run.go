package work

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

var dockerRunKind = Kind{
	Schema: plans.Schema{
		Doc: "Runs a command in a container that is removed afterwards. Exit status 0 passes, any other fails, and a container that cannot be started is an error. A passed command runs again when an attribute or the image changes.",
		Example: `step "docker_run" "kernels" {
  image   = "vllm-dev:mxfp4"
  command = ["pytest", "-q", "tests/kernels/moe"]
  gpus    = "all"
  volumes = { "../vllm" = "/workspace/vllm" }
  workdir = "/workspace/vllm"
}`,
		Attrs: []plans.Attr{
			{Name: "image", Type: plans.String, Required: true, Doc: "The image, by tag or digest."},
			{Name: "command", Type: plans.Strings, Doc: "Arguments to the image; no shell is involved. Without it, the image's own."},
			{Name: "entrypoint", Type: plans.Strings, Doc: "Replaces the image's entrypoint; an empty list removes it."},
			{Name: "env", Type: plans.Map, Doc: "Added to the image's environment."},
			{Name: "volumes", Type: plans.Map, Doc: "What the container sees of the daemon's machine, as in a `docker` block."},
			{Name: "gpus", Type: plans.Anything, Doc: "GPUs that the container gets: `\"all\"`, how many, or a list of indices and UUIDs. Without it, none."},
			{Name: "ipc", Type: plans.String, Doc: "IPC namespace, as in a `docker` block."},
			{Name: "shm_size", Type: plans.String, Doc: "Size of /dev/shm, such as `\"32g\"`."},
			{Name: "ulimits", Type: plans.Map, Doc: "Limits by name, as in a `docker` block."},
			{Name: "network", Type: plans.String, Doc: "A network of the daemon, `host` or `none`. Without it, the daemon's bridge."},
			{Name: "user", Type: plans.String, Doc: "User of the command: a name or number, optionally with `:group`."},
			{Name: "workdir", Type: plans.String, Doc: "Working directory in the container."},
			{Name: "pull", Type: plans.String, Default: "missing", OneOf: []string{"missing", "always", "never"}, Doc: "When to pull the image: if it is missing, once per apply, or never."},
			{Name: "timeout", Type: plans.Duration, Default: "30m", Doc: "After this time the container is stopped and the step fails."},
		},
		Check: plans.Checked(checkDockerRun),
	},
	Make: func(l *Site, b *plans.Block) runtime.Step { return &dockerRun{site: l, block: b} },
}

func checkDockerRun(b *plans.Block, c dockerRunConfig) []plans.AttrError {
	box := *b
	box.Attrs = map[string]any{}
	for name, v := range b.Attrs {
		// A command, unlike a server, may run without a network.
		if name != "env" && name != "timeout" && !(name == "network" && v == "none") {
			box.Attrs[name] = v
		}
	}
	errs := variant.CheckDocker(&box)
	if c.Image == "" {
		errs = append(errs, plans.AttrError{Attr: "image", Code: "empty-value", Summary: "Empty image", Detail: `Name the image, such as "vllm-dev:mxfp4".`})
	}
	return errs
}

var _ runtime.Preparer = (*dockerRun)(nil)

type dockerRun struct {
	site  *Site
	block *plans.Block
}

type dockerRunConfig struct {
	engine.Docker
	Env     map[string]string `json:"env"`
	Timeout plans.Dur         `json:"timeout"`
}

// containerGrace is how long a command in a container may take to stop.
const containerGrace = 10 * time.Second

// spec is the step as an engine without a port, which the docker launcher runs.
func (d *dockerRun) spec() (c dockerRunConfig, spec engine.Spec, err error) {
	if err = d.block.Decode(&c); err != nil {
		return c, spec, err
	}
	box := c.Docker
	box.Volumes = map[string]string{}
	for source, target := range c.Volumes {
		box.Volumes[variant.DockerSource(d.site.Plan.Dir, source)] = target
	}
	return c, engine.Spec{
		Kind: "docker_run", Profile: &kinds.Kind{Name: "docker_run", DefaultReadyTimeout: time.Minute, DefaultStopGrace: containerGrace},
		Command: c.Command, Env: c.Env, Docker: &box,
	}, nil
}

// Keys cover the step and its image. If the image differs from the one the command ran
// with, the key differs from the recorded one; an image that is gone does not change it,
// as the command's work is done.
func (d *dockerRun) Keys(s *runtime.Scope) (runtime.Keys, error) {
	key := d.site.sealed("docker_run", d.block.Attrs)
	p := s.Previous
	if !ranFor(p, key) {
		return runtime.Keys{Measure: key, Decide: "docker_run"}, nil
	}
	_, spec, err := d.spec()
	if err != nil {
		return runtime.Keys{}, err
	}
	now, err := imageNow(runtime.ContextOf(s), spec.Docker.Image)
	if err != nil || now == "" || now == p.Made[madeImage] {
		return runtime.Keys{Measure: p.MeasureKey, Decide: "docker_run"}, nil
	}
	return runtime.Keys{Measure: key + "@" + strconv.Itoa(p.Attempt), Decide: "docker_run"}, nil
}

// ranFor reports whether a command ran for a key, with whatever image.
func ranFor(p *ledger.Decision, key string) bool {
	return p != nil && p.Made[madeImage] != "" && (p.MeasureKey == key || strings.HasPrefix(p.MeasureKey, key+"@"))
}

// Prepare implements runtime.Preparer. A command that ran needs its image again only if
// it must run every time.
func (d *dockerRun) Prepare(ctx context.Context, s *runtime.Scope) error {
	_, spec, err := d.spec()
	if err != nil || spec.Docker.Pull != "always" && ranFor(s.Previous, d.site.sealed("docker_run", d.block.Attrs)) {
		return nil
	}
	f, ok := d.site.Launcher.(engine.Fetcher)
	if !ok {
		return nil
	}
	return f.Fetch(ctx, spec, func(image string) string { return Maker(d.site.Graph, image) })
}

func (d *dockerRun) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	c, spec, err := d.spec()
	if err != nil {
		return nil, err
	}
	launch, err := d.site.stepLaunch(s)
	if err != nil {
		return nil, err
	}
	inst, err := d.site.Launcher.Launch(ctx, spec, launch)
	if err != nil {
		if failure, ok := errors.AsType[*engine.Failure](err); ok {
			failure.Of = "container"
		}
		return &ledger.Decision{Verdict: verdict.Error, Reasons: verdict.Because(code.NotStarted, verdict.Line(err))}, ctx.Err()
	}
	out, err := d.site.await(ctx, s, inst, time.Duration(c.Timeout), "")
	if err != nil {
		return out, err
	}
	out.Made = map[string]string{madeImage: inst.About()["image_id"]}
	// The container's init process reports a command that never started.
	if len(out.LogTail) > 0 && strings.HasPrefix(out.LogTail[0], "[FATAL tini (") {
		out.Verdict = verdict.Error
		out.Reasons = verdict.Because(code.NoProgram, verdict.Text("line", out.LogTail[0]))
	}
	return out, nil
}
