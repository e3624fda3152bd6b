package steps

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/variant"
)

// gpusOf finds out which of this machine's GPUs a variant uses. A GPU that the
// plan names and that is not there is an error.
func (l *launchLab) gpusOf(ctx context.Context, v *variant.Variant, note func(verdict.Reason)) (u gpuUse, err error) {
	var block *plans.Block
	if e := l.Plan.Engine(v.Engine); e != nil && len(e.Parts["gpu"]) > 0 {
		block = e.Parts["gpu"][0]
	}
	if u.config, err = variant.GPUOf(block); err != nil {
		return u, err
	}
	if u.config.Devices == nil && !usesGPU(v.Spec) {
		return u, nil
	}
	all, err := gpu.List(ctx)
	if err != nil {
		if u.config.Devices != nil {
			return u, fmt.Errorf("the plan names GPUs, and they cannot be listed: %w", err)
		}
		note(verdict.New(code.GPUUnlisted, verdict.Err(err)))
		return u, nil
	}
	if u.config.Devices == nil && len(all) == 0 {
		return u, nil
	}
	var parents map[string]string
	if namesMIG(v.Spec, u.config.Devices) {
		if parents, err = gpu.Parents(ctx); err != nil {
			return u, err
		}
	}
	if u.config.Devices != nil {
		u.gpus, err = gpu.Choose(all, parents, *u.config.Devices)
		return u, err
	}
	var sure bool
	if u.gpus, sure, err = chosen(v.Spec, all, parents); err == nil && !sure {
		note(verdict.New(code.GPUUncertain))
	}
	return u, err
}

// namesMIG reports whether a part of a GPU is asked for, so that the GPU has to be
// found.
func namesMIG(spec engine.Spec, devices *[]string) bool {
	visible, _ := variant.Variable(spec, "CUDA_VISIBLE_DEVICES")
	asked := visible
	if devices != nil {
		asked = strings.Join(*devices, ",")
	} else if spec.Docker != nil {
		asked = fmt.Sprint(spec.Docker.GPUs)
	}
	return strings.Contains(asked, "MIG-")
}

// usesGPU reports whether an engine may be on a GPU of this machine at all.
func usesGPU(spec engine.Spec) bool {
	host := os.Getenv("DOCKER_HOST")
	switch {
	case spec.Kind == "embedded", spec.Endpoint != nil:
		return false
	case spec.Docker != nil:
		return spec.Docker.GPUs != nil && !remote(spec.Docker.Host, host)
	case spec.Compose != nil:
		return !remote(spec.Compose.Host, host)
	case spec.Exec != nil:
		return !remote(spec.Exec.Host, host)
	}
	return true
}

// remote reports whether a Docker daemon is on another machine.
func remote(own, inherited string) bool {
	host := own
	if host == "" {
		host = inherited
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok || scheme == "unix" || scheme == "fd" || scheme == "npipe" {
		return false
	}
	rest = rest[strings.LastIndex(rest, "@")+1:]
	return !strings.HasPrefix(rest, "localhost") && !strings.HasPrefix(rest, "127.") && !strings.HasPrefix(rest, "[::1]")
}

// chosen are the GPUs that a Spec asks for; sure is false where it cannot be
// told which they are and all are taken.
func chosen(spec engine.Spec, all []gpu.GPU, parents map[string]string) (list []gpu.GPU, sure bool, err error) {
	switch {
	case spec.Docker != nil:
		list, err = containerGPUs(spec.Docker.GPUs, all, parents)
		return list, true, err
	case spec.Compose != nil, spec.Exec != nil:
		return all, true, nil
	}
	visible, set := variant.Variable(spec, "CUDA_VISIBLE_DEVICES")
	if !set {
		return all, true, nil
	}
	order, _ := variant.Variable(spec, "CUDA_DEVICE_ORDER")
	list, sure = gpu.Visible(all, parents, visible, order)
	return list, sure, nil
}

// containerGPUs reads a docker block's gpus: "all", a number, or a list. A number
// takes the first ones, as the runtime does.
func containerGPUs(gpus any, all []gpu.GPU, parents map[string]string) ([]gpu.GPU, error) {
	switch asked := gpus.(type) {
	case string:
		if n, err := strconv.Atoi(asked); err == nil {
			return containerGPUs(float64(n), all, parents)
		}
		return gpu.Choose(all, parents, strings.Split(strings.TrimPrefix(asked, "device="), ","))
	case float64:
		if n := int(asked); n >= 0 && n <= len(all) {
			return all[:n], nil
		}
		if asked == -1 {
			return all, nil
		}
		return nil, fmt.Errorf("the container is to have %v GPUs, and nvidia-smi shows %d", asked, len(all))
	case int:
		return containerGPUs(float64(asked), all, parents)
	case []any:
		var names []string
		for _, name := range asked {
			names = append(names, fmt.Sprint(name))
		}
		return gpu.Choose(all, parents, names)
	case []string:
		return gpu.Choose(all, parents, asked)
	}
	return all, nil
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
