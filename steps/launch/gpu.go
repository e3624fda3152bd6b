package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// freeEvery is how often an occupied GPU is polled: nvidia-smi takes up to a second of a
// core without persistence mode.
const freeEvery = time.Second

// gpuUse is a launch's use of the machine's GPUs.
type gpuUse struct {
	Config variant.GPU
	gpus   []machine.GPU
}

func (u gpuUse) UUIDs() (out []string) {
	for _, g := range u.gpus {
		out = append(out, g.UUID)
	}
	return out
}

// Watched is what telemetry watches of them.
func (u gpuUse) Watched() machine.SamplerConfig {
	return machine.SamplerConfig{GPUs: u.UUIDs(), Ignore: u.Config.Ignore, IdleMiB: u.Config.IdleMB}
}

func (u gpuUse) look(ctx context.Context) (machine.Occupancy, error) {
	return machine.Occupants(ctx, u.UUIDs(), u.Config.Ignore, u.Config.IdleMB)
}

// selected is a variant that sees only the GPUs of its place, or those that its gpu block
// names. What the plan itself says of them takes precedence, but not on a place.
func (u gpuUse) selected(v *variant.Variant, on *ledger.Place) *variant.Variant {
	placed := on != nil && len(on.GPUs) > 0
	boxed := v.Spec.Docker != nil
	named := placed || u.Config.Devices != nil && !slices.Contains(*u.Config.Devices, "all")
	if !named || !boxed && v.Spec.How() != engine.HowProcess {
		return v
	}
	out := *v
	if boxed && !machine.IsContainerWord(v.Spec.Docker.GPUs) { // else variables choose from all of the vendor
		if placed {
			container := *v.Spec.Docker
			var ids []any
			for _, id := range on.GPUs {
				ids = append(ids, id)
			}
			container.GPUs = ids
			out.Spec.Docker = &container
		}
		return &out
	}
	gpus := slices.Clone(u.gpus)
	if placed { // in the order of the place
		slices.SortStableFunc(gpus, func(a, b machine.GPU) int {
			return cmp.Compare(slices.Index(on.GPUs, a.UUID), slices.Index(on.GPUs, b.UUID))
		})
	}
	shown, unset := machine.VisibleVariables(gpus)
	if !placed && (variant.SelectsGPUs(v.Spec, u.Config) || len(gpus) > 0 && len(unset) == 0) {
		return v // they are set since the plan was read
	}
	out.Spec.Env = maps.Clone(v.Spec.Env)
	if out.Spec.Env == nil {
		out.Spec.Env = map[string]string{}
	}
	for _, name := range unset {
		delete(out.Spec.Env, name)
	}
	maps.Copy(out.Spec.Env, shown)
	out.Spec.Unset = slices.Concat(v.Spec.Unset, unset)
	return &out
}

// gpuBefore gets a launch its GPUs: it locks them for the rest of the apply, and waits
// until no other process computes there. The error names the process in the way.
func (l *Lab) gpuBefore(ctx context.Context, s *runtime.Scope, v *variant.Variant, on *ledger.Place) (u gpuUse,
	err error,
) {
	note := func(what verdict.Reason) {
		s.Emit(runtime.Event{
			Type: "note", Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature,
			Variant: v.Name, Why: what,
		})
	}
	if u, err = l.gpusOf(ctx, v, on, note); err != nil || len(u.gpus) == 0 {
		return u, err
	}
	wait := time.Duration(u.Config.Wait)
	if err := l.lockGPUs(ctx, u, note); err != nil {
		if held, ok := errors.AsType[*machine.GPUHeldError](err); ok {
			err = fmt.Errorf("%w: timed out after %s; wait for it to finish, stop it, or set a longer wait in the "+
				"engine's gpu block", held, wait)
		}
		return u, err
	}
	o, err := machine.WaitFree(ctx, u.look, freeEvery, wait, func(o machine.Occupancy) {
		note(gpuWait(code.GPUWait, wait, o.String()))
	})
	if err != nil {
		return u, fmt.Errorf("cannot tell whether the GPU is free: %w", err)
	}
	if !o.Free() {
		return u,
			fmt.Errorf("the GPU is not free after waiting %s: %s; stop it, allow it with ignore in the engine's gpu "+
				"block, or set a longer wait there", wait, o)
	}
	c := u.Config
	if c.MaxTemperature == 0 {
		return u, nil
	}
	said := false
	err = machine.Settle(ctx, u.UUIDs(), machine.Calm{
		MaxTemperature: c.MaxTemperature, Timeout: wait,
		Waiting: func(what string) {
			if !said {
				note(gpuWait(code.GPUWait, wait, what))
			}
			said = true
		},
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("the GPU does not meet the engine's gpu block before a launch: %w", err)
	}
	return u, err
}

// Unified reports whether a GPU of this machine shares the host's memory. It is false if
// they cannot be listed: apply will report why.
func Unified() bool {
	list, _ := machine.GPUs(context.Background())
	return slices.ContainsFunc(list, machine.GPU.Unified)
}

// gpuHold are the GPUs that an apply holds, by UUID, until Close.
type gpuHold struct {
	mu    sync.Mutex
	locks map[string]*machine.GPULock
}

// lockGPUs locks the GPUs that this apply does not hold yet.
func (l *Lab) lockGPUs(ctx context.Context, u gpuUse, note func(verdict.Reason)) error {
	l.gpus.mu.Lock()
	defer l.gpus.mu.Unlock()
	var more []machine.GPU
	for _, g := range u.gpus {
		if l.gpus.locks[g.UUID] == nil {
			more = append(more, g)
		}
	}
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	me := machine.GPUHolder{PID: os.Getpid(), User: name, State: l.Owner, Since: time.Now().UTC()}
	locks, err := machine.LockGPUs(ctx, machine.GPULockDir(), more, me, time.Duration(u.Config.Wait),
		func(held *machine.GPUHeldError) {
			note(gpuWait(code.Of("gpu.lock_wait", "waiting up to {wait}: {until}"),
				time.Duration(u.Config.Wait), held.Error()))
		})
	if err != nil {
		return err
	}
	if l.gpus.locks == nil {
		l.gpus.locks = map[string]*machine.GPULock{}
	}
	maps.Copy(l.gpus.locks, locks)
	return nil
}

// Close gives back the GPUs that an apply locked.
func (l *Lab) Close() {
	l.gpus.mu.Lock()
	defer l.gpus.mu.Unlock()
	for _, lock := range l.gpus.locks {
		_ = lock.Unlock()
	}
	l.gpus.locks = nil
}

// gpuAfter waits until the engine's memory is freed, so the next launch starts with all
// of it. A process still there then ran in parallel with the engine, which makes the launch one on
// a shared GPU.
func (l *Lab) gpuAfter(s *runtime.Scope, u gpuUse) (notes []verdict.Reason) {
	if len(u.gpus) == 0 {
		return nil
	}
	settle := time.Duration(u.Config.Settle)
	ctx := s.Force
	if ctx == nil {
		ctx = context.Background()
	}
	o, err := machine.WaitFree(ctx, u.look, freeEvery/4, settle, nil)
	switch {
	case err != nil:
		return verdict.Because(code.Of("gpu.unseen", "could not check whether GPU memory was released: {error}"),
			verdict.Line(err))
	case len(o.Processes) > 0:
		return verdict.Because(code.GPUShared, verdict.Text("by", o.String()))
	case !o.Free():
		return verdict.Because(code.Of("gpu.not_given_back", "GPU memory was not released within {within}: {by}"),
			verdict.Dur("within", settle), verdict.Text("by", o.String()))
	}
	return nil
}

// gpuWait is what is waited for, and for how long at most.
func gpuWait(c code.Fact, wait time.Duration, until string) verdict.Reason {
	return verdict.New(c, verdict.Dur("wait", wait), verdict.Text("until", until))
}

// gpusOf determines which of this machine's GPUs a variant uses. A GPU that the plan
// names but does not exist is an error.
func (l *Lab) gpusOf(ctx context.Context, v *variant.Variant, on *ledger.Place, note func(verdict.Reason)) (u gpuUse,
	err error,
) {
	var blocks []*plans.Block
	if e := l.Variants.Plan.Engine(v.Engine); e != nil {
		blocks = e.Parts["gpu"]
	}
	if u.Config, err = variant.GPUOf(blocks); err != nil {
		return u, err
	}
	if on != nil && len(on.GPUs) > 0 {
		u.Config.Devices = &on.GPUs
	}
	if u.Config.Devices == nil && !usesGPU(v.Spec) {
		return u, nil
	}
	all, err := machine.GPUs(ctx)
	if err != nil {
		if u.Config.Devices != nil {
			return u, fmt.Errorf("the plan names GPUs, but they cannot be listed: %w", err)
		}
		note(verdict.Say("gpu.unlisted", "no GPU is locked or waited for, because GPUs cannot be listed: {error}",
			verdict.Err(err)))
		return u, nil
	}
	if u.Config.Devices == nil && len(all) == 0 {
		return u, nil
	}
	// If a part of a GPU is requested, the GPU must be found.
	asked, _ := variant.Variable(v.Spec, "CUDA_VISIBLE_DEVICES")
	if u.Config.Devices != nil {
		asked = strings.Join(*u.Config.Devices, ",")
	} else if v.Spec.Docker != nil {
		asked = fmt.Sprint(v.Spec.Docker.GPUs)
	}
	var parents map[string]string
	if strings.Contains(asked, "MIG-") {
		if parents, err = machine.MIGParents(ctx); err != nil {
			return u, err
		}
	}
	if u.Config.Devices != nil {
		u.gpus, err = machine.ChooseGPUs(all, parents, *u.Config.Devices)
		return u, err
	}
	var unsure string
	switch u.gpus, unsure, err = chosen(v.Spec, all, parents); {
	case err != nil || unsure == "":
	case unsure == "CUDA_VISIBLE_DEVICES":
		note(verdict.Say("gpu.uncertain",
			"CUDA_VISIBLE_DEVICES is ambiguous, because the GPUs differ and CUDA orders them by speed: all are "+
				`taken. Set CUDA_DEVICE_ORDER = "PCI_BUS_ID", or use UUIDs`))
	default:
		note(verdict.Say("gpu.uncertain_index",
			"{variable} is ambiguous, because it is not known how the driver counts these GPUs: all are taken. "+
				"Use UUIDs in ROCR_VISIBLE_DEVICES", verdict.Text("variable", unsure)))
	}
	return u, err
}

// usesGPU reports whether an engine may use a GPU of this machine at all.
func usesGPU(spec engine.Spec) bool {
	return spec.Kind != "embedded" && local(spec) && (spec.Docker == nil || spec.Docker.GPUs != nil)
}

// local reports whether an engine runs on this machine, as far as known.
func local(spec engine.Spec) bool {
	boxed := spec.Docker != nil || spec.Compose != nil || spec.Exec != nil
	return spec.Endpoint == nil && !(boxed && remote(os.Getenv("DOCKER_HOST")))
}

// remote reports whether the docker daemon of an address is on another machine.
func remote(host string) bool {
	rest, tcp := strings.CutPrefix(host, "tcp://")
	return tcp && !strings.HasPrefix(rest, "localhost") && !strings.HasPrefix(rest, "127.") &&
		!strings.HasPrefix(rest, "[::1]")
}

// chosen are the GPUs that a Spec requests; unsure is the variable by which they cannot be
// determined, so all are taken.
func chosen(
	spec engine.Spec, all []machine.GPU, parents map[string]string,
) (list []machine.GPU, unsure string, err error) {
	lookup := func(name string) (string, bool) { return variant.Variable(spec, name) }
	switch {
	case spec.Docker != nil:
		all = machine.ContainerGPUs(spec.Docker.GPUs, all)
		if !machine.IsContainerWord(spec.Docker.GPUs) {
			list, err = containerGPUs(spec.Docker.GPUs, all, parents)
			return list, "", err
		}
		lookup = func(name string) (string, bool) { value, set := spec.Env[name]; return value, set }
	case spec.Compose != nil, spec.Exec != nil:
		return all, "", nil
	}
	selected, rest, unsure := machine.SelectedGPUs(all, parents, lookup)
	return append(selected, rest...), unsure, nil
}

// containerGPUs reads a docker block's gpus: "all", a number, or a list. A number takes
// the first ones, as the runtime does.
func containerGPUs(gpus any, all []machine.GPU, parents map[string]string) ([]machine.GPU, error) {
	switch asked := gpus.(type) {
	case string:
		if n, err := strconv.Atoi(asked); err == nil {
			return containerGPUs(float64(n), all, parents)
		}
		return machine.ChooseGPUs(all, parents, strings.Split(strings.TrimPrefix(asked, "device="), ","))
	case float64:
		if n := int(asked); n >= 0 && n <= len(all) {
			return all[:n], nil
		}
		if asked == -1 {
			return all, nil
		}
		return nil, fmt.Errorf("the container should get %v GPUs, but nvidia-smi shows %d", asked, len(all))
	case int:
		return containerGPUs(float64(asked), all, parents)
	case []any:
		var names []string
		for _, name := range asked {
			names = append(names, fmt.Sprint(name))
		}
		return machine.ChooseGPUs(all, parents, names)
	case []string:
		return machine.ChooseGPUs(all, parents, asked)
	}
	return all, nil
}
