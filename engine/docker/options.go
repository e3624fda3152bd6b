package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans/redact"
)

// GPUs is the value of --gpus for the gpus attribute: "all", a number, or a list of
// indices and UUIDs. It is empty for none.
func GPUs(v any) (string, error) {
	text, _ := json.Marshal(v)
	list, isList := v.([]any)
	switch number := fmt.Sprint(v); {
	case v == nil, number == "0", isList && len(list) == 0:
		return "", nil
	case number == "all", gpuCount.MatchString(number):
		return number, nil
	}
	var ids []string
	for _, id := range list {
		if text := fmt.Sprint(id); !slices.Contains(ids, text) && gpuID.MatchString(text) {
			ids = append(ids, text)
		}
	}
	if len(ids) == 0 || len(ids) != len(list) {
		return "", fmt.Errorf(`gpus = %s: write "all", how many, or a list of indices and UUIDs such as ["0", "1"]`, text)
	}
	return csv("device=" + strings.Join(ids, ",")), nil
}

var (
	gpuCount = regexp.MustCompile(`^[1-9][0-9]{0,3}$`)
	// gpuID matches an index, or the UUID of a GPU or of a part of one, as nvidia-smi -L
	// prints them.
	gpuID = regexp.MustCompile(`^([0-9]{1,4}|(GPU|MIG)-[^, "]+)$`)
)

// csv is one field of the lines of CSV that some flags take.
func csv(field string) string {
	if strings.ContainsAny(field, "\",\n") {
		return `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
	}
	return field
}

var size = regexp.MustCompile(`(?i)^(0*[1-9][0-9]*|[0-9]+\.[0-9]+) ?([kmgtp]i?)?b?$`)

// Size checks a size such as "32g"; empty is the default.
func Size(text string) error {
	if text != "" && !size.MatchString(text) {
		return fmt.Errorf(`%q is not a size: write a number and a unit, such as "32g" or "512m"`, text)
	}
	return nil
}

// ulimit matches a limit and its value: a number, -1 for none, or soft and hard.
var ulimit = regexp.MustCompile(`^(core|cpu|data|fsize|locks|memlock|msgqueue|nice|nofile|nproc|rss|rtprio|rttime|` +
	`sigpending|stack)=(-1|[0-9]+)(:(-1|[0-9]+))?$`)

// Ulimits checks limits such as memlock = "-1" or nofile = "1024:4096".
func Ulimits(by map[string]string) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if !ulimit.MatchString(name + "=" + by[name]) {
			wrong = append(wrong, fmt.Errorf(`%s = %q: write a limit's name (memlock, nofile, stack, …) and a number, -1 `+
				`for no limit, or "soft:hard"`, name, by[name]))
		}
	}
	return errors.Join(wrong...)
}

// Mounts are the values of --mount for volumes: a path of this machine or the name of a
// volume, and the path in the container, followed by ":ro" or not. The daemon rejects the
// mount of a path that does not exist: --volume would create a folder, and the engine
// would find its model missing.
func Mounts(volumes map[string]string) (mounts []string, err error) {
	var wrong []error
	for _, source := range slices.Sorted(maps.Keys(volumes)) {
		target, mode, _ := strings.Cut(volumes[source], ":")
		kind := "volume"
		if strings.HasPrefix(source, "/") || engine.Marked(source) {
			kind = "bind"
		}
		switch {
		case source == "" || !strings.HasPrefix(target, "/"):
			wrong = append(wrong, fmt.Errorf(`volume %q = %q: the path in the container must start with "/"`,
				source, volumes[source]))
		case mode != "" && mode != "ro" && mode != "rw":
			wrong = append(wrong, fmt.Errorf(`volume %q = %q: only ":ro" or ":rw" may follow the path`, source, volumes[source]))
		case kind == "volume" && strings.ContainsAny(source, `/\:`):
			wrong = append(wrong, fmt.Errorf("volume %q is neither an absolute path nor the name of a volume", source))
		}
		mount := "type=" + kind + "," + csv("source="+source) + "," + csv("target="+target)
		if mode == "ro" {
			mount += ",readonly"
		}
		mounts = append(mounts, mount)
	}
	return mounts, errors.Join(wrong...)
}

// Command is a docker command that starts an engine.
type Command struct {
	Argv []string
	// Env are variables that it passes into the container, as NAME=value: so they are seen
	// by no other user of this machine. Unset are those that it must not have.
	Env, Unset []string
}

// add adds a flag unless its value is empty.
func (c *Command) add(flag, value string) {
	if value != "" {
		c.Argv = append(c.Argv, flag, value)
	}
}

// byDocker matches variables that the docker command itself, or what it starts, would
// interpret.
var byDocker = regexp.MustCompile(
	`(?i)^((DOCKER|BUILDKIT|BUILDX|COMPOSE|MXFLOW|SSH|LD|GODEBUG|OTEL)(_.*)?|.*_PROXY|PATH|HOME|TMPDIR|LANG|TERM)$`)

// setEnv passes the variables of a Spec, and removes those of the image that it unsets.
func (c *Command) setEnv(spec engine.Spec, expand func(string) string) error {
	for _, name := range spec.Unset {
		switch _, set := spec.Env[name]; {
		case set:
		case byDocker.MatchString(name) && !strings.HasPrefix(name, "LD_"):
			return fmt.Errorf("%s cannot be unset in a container: set it to another value", name)
		default:
			c.add("--env", name)
			c.Unset = append(c.Unset, name)
		}
	}
	return c.passEnv(spec, expand)
}

func (c *Command) passEnv(spec engine.Spec, expand func(string) string) error {
	env, err := spec.Environ(expand)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if byDocker.MatchString(name) && !redact.SecretName(name) {
			c.add("--env", kv)
			continue
		}
		c.add("--env", name)
		c.Env = append(c.Env, kv)
	}
	return err
}

// expanded fills in the placeholders of arguments.
func expanded(argv []string, expand func(string) string) ([]string, error) {
	var out []string
	for _, arg := range argv {
		if strings.Contains(arg, "{mxflow}") {
			return nil, fmt.Errorf("{mxflow} in %q is a path on this machine, not in the container: use one of the image",
				arg)
		}
		out = append(out, expand(arg))
	}
	return out, nil
}

// configFolder is where a configuration file is in the container.
const configFolder = "/etc/mxflow/"

// container adds the options and arguments that a Spec's docker block asks for. port is
// where the engine listens inside, and config its configuration file on this machine.
func (c *Command) container(spec engine.Spec, port int, config string) error {
	d := spec.Docker
	expand := engine.Placeholders(port, configFolder+spec.ConfigName)
	gpus, err := GPUs(d.GPUs)
	wrong := []error{err, Size(d.ShmSize), Ulimits(d.Ulimits)}
	c.add("--gpus", gpus)
	c.add("--ipc", d.IPC)
	c.add("--shm-size", d.ShmSize)
	for _, name := range slices.Sorted(maps.Keys(d.Ulimits)) {
		c.add("--ulimit", name+"="+d.Ulimits[name])
	}
	c.add("--network", d.Network)
	c.add("--user", d.User)
	mounts, err := Mounts(d.Volumes)
	wrong = append(wrong, err)
	for _, mount := range mounts {
		c.add("--mount", mount)
	}
	if len(spec.Config) > 0 {
		c.add("--mount", "type=bind,"+csv("source="+config)+","+csv("target="+configFolder+spec.ConfigName)+",readonly")
	}
	c.add("--workdir", d.WorkDir)
	wrong = append(wrong, c.setEnv(spec, expand))
	entry, err := expanded(d.Entrypoint, expand)
	wrong = append(wrong, err)
	switch {
	case len(entry) > 0:
		c.add("--entrypoint", entry[0])
		entry = entry[1:]
	case d.Entrypoint != nil:
		c.Argv = append(c.Argv, "--entrypoint", "") // takes the image's away
	}
	args, err := expanded(spec.Command, expand)
	wrong = append(wrong, err)
	c.Argv = slices.Concat(c.Argv, []string{d.Image}, entry, args)
	return errors.Join(wrong...)
}

// exec adds the options and arguments of docker exec for a command in a container.
func (c *Command) exec(spec engine.Spec, argv []string, expand func(string) string) error {
	x := spec.Exec
	c.add("--user", x.User)
	c.add("--workdir", x.WorkDir)
	if err := c.passEnv(spec, expand); err != nil {
		return err
	}
	c.Argv = append(c.Argv, x.Container)
	prefix := len(c.Argv)
	for _, name := range spec.Unset { // which docker exec cannot do
		if _, set := spec.Env[name]; !set {
			c.add("-u", name)
		}
	}
	if len(c.Argv) > prefix {
		c.Argv = slices.Insert(c.Argv, prefix, "env")
	}
	args, err := expanded(argv, expand)
	c.Argv = append(c.Argv, args...)
	return err
}
