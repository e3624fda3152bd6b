package variant

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/plans"
)

var dockerPart = launchPart{schema: dockerSchema, put: putDocker}

var dockerSchema = plans.Schema{
	Doc: "The engine runs in a container that mxflow starts and removes. The daemon is the one of this machine " +
		"that the `docker` command uses. The container gets the engine's `env`, settings and `args` as a process " +
		"would. In `command` and `env`, `{port}` is the port to listen on and `{config}` the path of the kind's " +
		"configuration file, both in the container.",
	Example: plans.Example(examples, `docker {`),
	Attrs: []plans.Attr{
		{
			Name: "image", Type: plans.String,
			Doc: "The image, by tag or digest. A tag's digest is recorded at every launch. Without it, the kind's " +
				"own.",
		},
		{
			Name: "pull", Type: plans.String, Default: "missing", OneOf: []string{"missing", "always", "never"},
			Doc: "When to pull: if missing, once per apply, or never.",
		},
		{
			Name: "gpus", Type: plans.Anything,
			Doc: "GPUs: `\"all\"`, how many, a list, or `\"amd\"` (ROCm). A list has indices and UUIDs, for the " +
				"NVIDIA Container Toolkit; `\"amd\"` is what ROCm needs: /dev/kfd, /dev/dri, the groups video and " +
				"render by this machine's numbers, and seccomp unconfined. Without it, none.",
		},
		{
			Name: "devices", Type: plans.Strings,
			Doc: "Devices: `/dev/NAME`, `/dev/NAME:/dev/OTHER:rwm`, or a name of CDI. A folder such as /dev/dri is " +
				"all in it.",
		},
		{
			Name: "group_add", Type: plans.Strings,
			Doc: "More groups of the engine's user, by name or number. Names are those in the image.",
		},
		{
			Name: "security_opt", Type: plans.Strings,
			Doc: "Security options: `seccomp=unconfined`, `label=disable`, `seccomp=FILE` and others.",
		},
		{Name: "cap_add", Type: plans.Strings, Doc: "More capabilities of Linux, such as `SYS_PTRACE`."},
		{
			Name: "volumes", Type: plans.Map,
			Doc: "Paths or volumes to paths in the container (`:ro`: read-only). Paths of this machine: `~` is your " +
				"home, relative ones start at the plan's folder. `:ro` goes after the path in the container. A path " +
				"that does not exist is an error.",
		},
		{
			Name: "ipc", Type: plans.String,
			Doc: "IPC namespace: `private`, `shareable`, `host`, `none` or `container:NAME`. Without it, the kind's " +
				"own.",
		},
		{
			Name: "shm_size", Type: plans.String,
			Doc: "Size of /dev/shm, such as `\"32g\"`. Without it, the kind's own size, or the daemon's, which is 64 " +
				"MB.",
		},
		{
			Name: "ulimits", Type: plans.Map,
			Doc: "Limits by name, such as `{ memlock = \"-1\" }`. `\"soft:hard\"` sets both, as in `{ stack = " +
				"\"67108864:67108864\" }`. They are added to the kind's own.",
		},
		{
			Name: "network", Type: plans.String,
			Doc: "A network of the daemon, or `host`. With `host` the engine listens on a port of the machine " +
				"itself. Without it, the daemon's bridge.",
		},
		{
			Name: "user", Type: plans.String,
			Doc: "User of the engine: name or number, optionally with `:group`. Without it, the image's.",
		},
		{Name: "workdir", Type: plans.String, Doc: "Working directory in the container. Without it, the image's."},
		{Name: "entrypoint", Type: plans.Strings, Doc: "Replaces the image's entrypoint; an empty list removes it."},
		{
			Name: "command", Type: plans.Strings,
			Doc: "Arguments to the image before the flags. Without it, the kind's own.",
		},
		{
			Name: "port", Type: plans.Int, MinSet: true, Min: 1, Max: 65535,
			Doc: "Where the engine listens in the container. Without it, the kind's own port.",
		},
	},
	Check: plans.Checked(func(_ *plans.Block, d engine.Docker) (errs []plans.AttrError) {
		volumes := map[string]string{}
		for source, target := range d.Volumes {
			volumes[dockerSource("/", source)] = target // the path is settled later; the form is not
		}
		d.Volumes = volumes
		docker.Check(d, func(attr string, err error) {
			if err != nil {
				errs = append(errs, plans.AttrError{
					Attr: attr, Code: "invalid-value", Summary: "Invalid " + attr,
					Detail: strings.ReplaceAll(err.Error(), "\n", "; ") + ".",
				})
			}
		})
		return append(errs, checkInContainer(slices.Concat(d.Entrypoint, d.Command))...)
	}),
}

func putDocker(l *Resolver, d *draft, spec *engine.Spec) ([]string, error) {
	var box engine.Docker
	if err := d.engine.Launch.Decode(&box); err != nil {
		return nil, err
	}
	if d.image != "" {
		box.Image = d.image
	}
	if box.Image == "" {
		box.Image = d.kind.Image
	}
	needs := d.kind.Container
	box.IPC, box.ShmSize = cmp.Or(box.IPC, needs.IPC), cmp.Or(box.ShmSize, needs.ShmSize)
	if len(needs.Ulimits) > 0 {
		limits := maps.Clone(needs.Ulimits)
		maps.Copy(limits, box.Ulimits)
		box.Ulimits = limits
	}
	volumes := map[string]string{}
	for _, source := range slices.Sorted(maps.Keys(box.Volumes)) {
		volumes[dockerSource(l.Plan.Dir, source)] = box.Volumes[source]
	}
	if box.Volumes = volumes; len(volumes) == 0 {
		box.Volumes = nil
	}
	spec.Docker = &box
	if box.Command != nil {
		return box.Command, nil
	}
	return d.kind.ImageCommand, nil
}

// dockerSource is the source of a volume as docker takes it: an absolute path,
// or the name of a volume. base is the plan's folder.
func dockerSource(base, source string) string {
	if rest, ok := strings.CutPrefix(source, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(source) {
		return filepath.Clean(source)
	}
	if !strings.ContainsRune(source, '/') && source != "." && source != ".." {
		return source
	}
	path := filepath.Join(base, source)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
