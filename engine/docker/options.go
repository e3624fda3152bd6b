package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	units "github.com/docker/go-units"
)

// GPUs reads the gpus attribute: "all", a number, or a list of indices and
// UUIDs. nil is none.
func GPUs(v any) ([]container.DeviceRequest, error) {
	request := container.DeviceRequest{Capabilities: [][]string{{"gpu"}}}
	text, _ := json.Marshal(v)
	wrong := fmt.Errorf(`gpus = %s: write "all", how many, or a list of indices and UUIDs such as ["0", "1"]`, text)
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		if v == "all" {
			request.Count = -1
			return []container.DeviceRequest{request}, nil
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return nil, wrong
		}
		return GPUs(n)
	case float64:
		if v != math.Trunc(v) || v < 0 || v > 1024 {
			return nil, wrong
		}
		return GPUs(int(v))
	case int:
		if v < 0 {
			return nil, wrong
		}
		if v == 0 {
			return nil, nil
		}
		request.Count = v
	case []any:
		for _, id := range v {
			text := fmt.Sprint(id)
			if text == "" || slices.Contains(request.DeviceIDs, text) || !gpuID(text) {
				return nil, wrong
			}
			request.DeviceIDs = append(request.DeviceIDs, text)
		}
		if len(v) == 0 {
			return nil, nil
		}
	default:
		return nil, wrong
	}
	return []container.DeviceRequest{request}, nil
}

// gpuID reports whether text is an index, or the UUID of a GPU or of a part of
// one, as nvidia-smi -L prints them.
func gpuID(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil || strings.HasPrefix(text, "GPU-") || strings.HasPrefix(text, "MIG-")
}

// Size parses a size such as "32g" into bytes; empty is 0.
func Size(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := units.RAMInBytes(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf(`%q is not a size: write a number and a unit, such as "32g" or "512m"`, text)
	}
	return n, nil
}

// Ulimits parses limits such as memlock = "-1" or nofile = "1024:4096", soft and hard.
func Ulimits(by map[string]string) ([]*container.Ulimit, error) {
	var limits []*container.Ulimit
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(by)) {
		u, err := units.ParseUlimit(name + "=" + by[name])
		if err != nil {
			wrong = append(wrong, fmt.Errorf(`%s = %q: %w; write a number, -1 for no limit, or "soft:hard"`, name, by[name], err))
			continue
		}
		limits = append(limits, u)
	}
	return limits, errors.Join(wrong...)
}

// Volumes parses volumes: a path of the daemon's machine or the name of a volume, and the
// path in the container, followed by ":ro" or not. A path becomes a mount, which the
// daemon rejects if the path does not exist: a bind would create a folder, and the engine
// would find its model missing.
func Volumes(by map[string]string) ([]mount.Mount, error) {
	var mounts []mount.Mount
	var wrong []error
	for _, source := range slices.Sorted(maps.Keys(by)) {
		target, mode, _ := strings.Cut(by[source], ":")
		m := mount.Mount{Type: mount.TypeVolume, Source: source, Target: target, ReadOnly: mode == "ro"}
		if strings.HasPrefix(source, "/") {
			m.Type = mount.TypeBind
		}
		switch {
		case source == "" || !strings.HasPrefix(target, "/"):
			wrong = append(wrong, fmt.Errorf(`volume %q = %q: the path in the container must start with "/"`, source, by[source]))
		case mode != "" && mode != "ro" && mode != "rw":
			wrong = append(wrong, fmt.Errorf(`volume %q = %q: only ":ro" or ":rw" may follow the path`, source, by[source]))
		case m.Type == mount.TypeVolume && strings.ContainsAny(source, `/\:`):
			wrong = append(wrong, fmt.Errorf("volume %q is neither an absolute path nor the name of a volume", source))
		}
		mounts = append(mounts, m)
	}
	return mounts, errors.Join(wrong...)
}
