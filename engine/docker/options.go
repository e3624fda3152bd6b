package docker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-units"

	"github.com/mxflow/mxflow/engine"
)

// Check reports what is wrong with a docker block, by attribute.
func Check(d engine.Docker, wrong func(attr string, err error)) {
	var host container.HostConfig
	_, size := bytesOf(d.ShmSize)
	_, limits := ulimits(d.Ulimits)
	_, volumes := mounts(d.Volumes)
	wrong("gpus", addGPUs(d.GPUs, &host))
	wrong("devices", addDevices(d.Devices, &host))
	wrong("security_opt", addSecurity(d.SecurityOpt, &host))
	wrong("shm_size", size)
	wrong("ulimits", limits)
	wrong("volumes", volumes)
	if mode := container.NetworkMode(d.Network); mode.IsNone() || mode.IsContainer() {
		wrong("network", unreachableBy(d.Network))
	}
	known := []string{"", "private", "shareable", "host", "none"}
	if !slices.Contains(known, d.IPC) && !strings.HasPrefix(d.IPC, "container:") {
		wrong("ipc",
			fmt.Errorf(`ipc must be "private", "shareable", "host", "none" or "container:NAME", not %q`, d.IPC))
	}
}

func unreachableBy(network string) error {
	return fmt.Errorf(
		"the engine cannot be reached with network = %q: remove it, or use \"host\" or a network of the daemon",
		network)
}

// amd is the value of the gpus attribute for all GPUs of AMD.
const amd = "amd"

// addGPUs puts the gpus attribute into what a container asks for: "all", how many, or a list
// of indices and UUIDs, which the NVIDIA Container Toolkit provides; or "amd", which is what
// AMD's documentation passes to docker run for ROCm: the devices, their groups by the
// numbers of this machine, since images know them by others or not at all, and no seccomp.
func addGPUs(v any, host *container.HostConfig) error {
	ask := container.DeviceRequest{Capabilities: [][]string{{"gpu"}}}
	list, isList := v.([]any)
	switch number := fmt.Sprint(v); {
	case v == nil, number == "0", isList && len(list) == 0:
		return nil
	case number == amd:
		_ = addDevices([]string{"/dev/kfd", "/dev/dri"}, host)
		for _, name := range []string{"video", "render"} {
			if group, err := user.LookupGroup(name); err == nil {
				host.GroupAdd = append(host.GroupAdd, group.Gid)
			}
		}
		host.SecurityOpt = append(host.SecurityOpt, "seccomp=unconfined")
		return nil
	case number == "all":
		ask.Count = -1
	case gpuCount.MatchString(number):
		ask.Count, _ = strconv.Atoi(number)
	default:
		for _, id := range list {
			if text := fmt.Sprint(id); !slices.Contains(ask.DeviceIDs, text) && gpuID.MatchString(text) {
				ask.DeviceIDs = append(ask.DeviceIDs, text)
			}
		}
		if len(ask.DeviceIDs) == 0 || len(ask.DeviceIDs) != len(list) {
			text, _ := json.Marshal(v)
			return fmt.Errorf(
				`gpus = %s: write "all", how many, a list of indices and UUIDs such as ["0", "1"], or "amd"`, text)
		}
	}
	host.DeviceRequests = append(host.DeviceRequests, ask)
	return nil
}

var (
	gpuCount = regexp.MustCompile(`^[1-9][0-9]{0,3}$`)
	// gpuID matches an index, or the UUID of a GPU or of a part of one, as nvidia-smi -L
	// prints them.
	gpuID = regexp.MustCompile(`^([0-9]{1,4}|(GPU|MIG)-[^, "]+)$`)
	// cdiName matches a device of the Container Device Interface: vendor/class=name.
	cdiName = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9_.]*/[a-zA-Z0-9][-a-zA-Z0-9_.]*=[^ ]+$`)
)

// addDevices adds devices as docker run takes them: a path of the host, its path in the
// container and what the container may do there (rwm), or a name of CDI. A folder such as
// /dev/dri is all devices in it.
func addDevices(list []string, host *container.HostConfig) error {
	var wrong []error
	for _, text := range list {
		if cdiName.MatchString(text) && !strings.HasPrefix(text, "/") {
			host.DeviceRequests = append(host.DeviceRequests,
				container.DeviceRequest{Driver: "cdi", DeviceIDs: []string{text}})
			continue
		}
		d := container.DeviceMapping{CgroupPermissions: "rwm"}
		parts := strings.Split(text, ":")
		if last := parts[len(parts)-1]; len(parts) > 1 && last != "" && strings.Trim(last, "rwm") == "" {
			d.CgroupPermissions, parts = last, parts[:len(parts)-1]
		}
		d.PathOnHost, d.PathInContainer = parts[0], parts[len(parts)-1]
		if len(parts) > 2 || !path.IsAbs(d.PathOnHost) || !path.IsAbs(d.PathInContainer) {
			wrong = append(wrong,
				fmt.Errorf(`device %q: write "/dev/NAME", "/dev/NAME:/dev/OTHER:rwm", or a name of CDI such `+
					`as "nvidia.com/gpu=0"`, text))
		}
		host.Devices = append(host.Devices, d)
	}
	return errors.Join(wrong...)
}

// addSecurity adds options as docker run takes them: what its command does with two of
// them before the daemon sees them is done here.
func addSecurity(list []string, host *container.HostConfig) error {
	var wrong []error
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			name, value, ok = strings.Cut(text, ":")
		}
		switch {
		case text == "no-new-privileges":
		case !ok:
			wrong = append(wrong,
				fmt.Errorf(`security option %q: write NAME=VALUE, such as "seccomp=unconfined"`, text))
		case name == "systempaths" && value == "unconfined":
			host.MaskedPaths, host.ReadonlyPaths = []string{}, []string{}
			continue
		case name == "seccomp" && value != "unconfined" && value != "builtin":
			var profile bytes.Buffer
			file, err := os.ReadFile(value)
			if err == nil {
				err = json.Compact(&profile, file)
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("security option %q: cannot read the profile: %w", text, err))
			}
			text = "seccomp=" + profile.String()
		}
		host.SecurityOpt = append(host.SecurityOpt, text)
	}
	return errors.Join(wrong...)
}

// bytesOf is a size such as "32g" in bytes; empty is 0, the daemon's default.
func bytesOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := units.RAMInBytes(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf(`%q is not a size: write a number and a unit, such as "32g" or "512m"`, text)
	}
	return n, nil
}

// ulimits reads limits such as memlock = "-1" or nofile = "1024:4096".
func ulimits(by map[string]string) (limits []*container.Ulimit, err error) {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(by)) {
		limit, err := units.ParseUlimit(name + "=" + by[name])
		if err != nil {
			wrong = append(wrong,
				fmt.Errorf(`%s = %q: write a limit's name (memlock, nofile, stack, …) and a number, -1 `+
					`for no limit, or "soft:hard"`, name, by[name]))
		}
		limits = append(limits, limit)
	}
	return limits, errors.Join(wrong...)
}

// mounts are the mounts of volumes: a path of this machine or the name of a volume, and
// the path in the container, followed by ":ro" or not. The daemon rejects the mount of a
// path that does not exist: a bind of the older form would create a folder, and the engine
// would find its model missing.
func mounts(volumes map[string]string) (all []mount.Mount, err error) {
	var wrong []error
	for _, source := range slices.Sorted(maps.Keys(volumes)) {
		target, mode, _ := strings.Cut(volumes[source], ":")
		kind := mount.TypeVolume
		if strings.HasPrefix(source, "/") || engine.Marked(source) {
			kind = mount.TypeBind
		}
		switch {
		case source == "" || !strings.HasPrefix(target, "/"):
			wrong = append(wrong, fmt.Errorf(`volume %q = %q: the path in the container must start with "/"`,
				source, volumes[source]))
		case mode != "" && mode != "ro" && mode != "rw":
			wrong = append(wrong,
				fmt.Errorf(`volume %q = %q: only ":ro" or ":rw" may follow the path`, source, volumes[source]))
		case kind == mount.TypeVolume && strings.ContainsAny(source, `/\:`):
			wrong = append(wrong, fmt.Errorf("volume %q is neither an absolute path nor the name of a volume", source))
		}
		all = append(all, mount.Mount{Type: kind, Source: source, Target: target, ReadOnly: mode == "ro"})
	}
	return all, errors.Join(wrong...)
}

// expanded fills in the placeholders of arguments.
func expanded(argv []string, expand func(string) string) ([]string, error) {
	var out []string
	for _, arg := range argv {
		if strings.Contains(arg, "{mxflow}") {
			return nil,
				fmt.Errorf("{mxflow} in %q is a path on this machine, not in the container: use one of the image",
					arg)
		}
		out = append(out, expand(arg))
	}
	return out, nil
}

// configFolder is where a configuration file is in the container.
const configFolder = "/etc/mxflow/"

// configs is what the daemon is asked for by a Spec's docker block. port is where the
// engine listens inside, and config its configuration file on this machine.
func configs(spec engine.Spec, port int, config string) (*container.Config, *container.HostConfig, error) {
	d := spec.Docker
	expand := engine.Placeholders(port, configFolder+spec.ConfigName)
	inside := &container.Config{Image: d.Image, User: d.User, WorkingDir: d.WorkDir}
	host := &container.HostConfig{
		IpcMode: container.IpcMode(d.IPC), NetworkMode: container.NetworkMode(d.Network),
		GroupAdd: slices.Clone(d.GroupAdd),
		CapAdd:   d.CapAdd,
	}
	var wrong [8]error
	host.ShmSize, wrong[0] = bytesOf(d.ShmSize)
	host.Ulimits, wrong[1] = ulimits(d.Ulimits)
	host.Mounts, wrong[2] = mounts(d.Volumes)
	wrong[3] = errors.Join(addDevices(d.Devices, host), addSecurity(d.SecurityOpt, host), addGPUs(d.GPUs, host))
	if len(spec.Config) > 0 {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: config, Target: configFolder + spec.ConfigName, ReadOnly: true,
		})
	}
	for _, name := range spec.Unset {
		if _, set := spec.Env[name]; !set {
			inside.Env = append(inside.Env, name) // without a value, the daemon drops the image's
		}
	}
	var env []string
	env, wrong[4] = spec.Environ(expand)
	inside.Env = append(inside.Env, env...)
	inside.Entrypoint, wrong[5] = expanded(d.Entrypoint, expand)
	if d.Entrypoint != nil && len(inside.Entrypoint) == 0 {
		inside.Entrypoint = []string{""} // takes the image's away
	}
	inside.Cmd, wrong[6] = expanded(spec.Command, expand)
	return inside, host, errors.Join(wrong[:]...)
}
