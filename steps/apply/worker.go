package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/launch/remote"
)

// Work makes launches for an mxflow on another machine, which orders them through in,
// until that or ctx ends. What still runs then is shut down gracefully. It keeps its data
// in a temporary folder of its own.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	removeWorkerFolders()
	dir, err := os.MkdirTemp("", workerDir+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// If the file system has no locks, the folders of killed workers stay.
	if lock, err := store.Lock(stateOf(dir)); err == nil {
		defer func() { _ = lock.Unlock() }()
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	w := &worker{wire: remote.NewWire(in, out), dir: dir, soft: ctx}
	go w.wire.StayAlive(ctx.Done())
	heard, ended := make(chan remote.Message), make(chan error, 1)
	go func() {
		for {
			m, err := w.wire.Receive()
			if err != nil {
				ended <- err
				return
			}
			select {
			case heard <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	silent := time.NewTimer(remote.Silence)
	defer silent.Stop()
	defer w.close()
	for {
		select {
		case m := <-heard:
			silent.Reset(remote.Silence)
			if err := w.handle(m); err != nil {
				return err
			}
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-silent.C:
			return fmt.Errorf("nothing heard from the applying mxflow for %s", remote.Silence)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// workerDir is the prefix of the folders that workers keep data in.
const workerDir = "mxflow-worker-"

// stateOf is where a worker keeps the results of a launch.
func stateOf(dir string) string { return filepath.Join(dir, "state") }

// removeWorkerFolders removes the folders of killed workers. A new one may not be locked yet.
func removeWorkerFolders() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), workerDir+"*"))
	for _, dir := range left {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Hour {
			continue
		}
		if held, _, err := store.AtWork(stateOf(dir)); err == nil && !held {
			_ = os.RemoveAll(dir) // other users' folders stay
		}
	}
}

type worker struct {
	wire *remote.Wire
	dir  string
	soft context.Context

	store *store.Store
	lab   *steps.Lab
	graph *runtime.Graph
	place *ledger.Place
	// stop ends the running launch, and done is closed when it has ended.
	stop context.CancelFunc
	done chan struct{}
}

// handle handles a message. An error ends the worker.
func (w *worker) handle(m remote.Message) error {
	switch {
	case m.Hello != nil:
		ready, err := w.begin(m.Hello)
		if err != nil {
			why := verdict.New(code.WorkerRefuses, verdict.Err(err))
			if f := (*verdict.Fault)(nil); errors.As(err, &f) {
				why = f.Reason
			}
			return errors.Join(err, w.wire.Send(remote.Message{Failed: why}))
		}
		return w.wire.Send(remote.Message{Ready: ready})
	case m.Order != nil:
		if w.done != nil {
			<-w.done
		}
		ctx, stop := context.WithCancel(w.soft)
		w.stop, w.done = stop, make(chan struct{})
		go func(done chan struct{}) {
			defer close(done)
			defer stop()
			w.carry(ctx, m.Order)
		}(w.done)
	case m.Stop && w.stop != nil:
		w.stop()
	case m.Sum != "":
		_, err := w.store.Put(m.Data)
		return err
	}
	return nil
}

func (w *worker) close() {
	if w.stop != nil {
		w.stop()
		<-w.done
	}
	if w.lab != nil {
		w.lab.Launches.Close()
	}
	if w.store != nil {
		_ = w.store.Close()
	}
}

// begin prepares for the orders of one apply. The error is why launches here would not be
// those that the plan asks for.
func (w *worker) begin(h *remote.Hello) (*remote.Ready, error) {
	own, _ := os.Hostname()
	host := cmp.Or(os.Getenv("SLURMD_NODENAME"), h.Host, own) // for people
	if _, sum, err := remote.ProgramSum(); err != nil || sum != h.Program {
		return nil,
			errors.Join(err, fmt.Errorf("mxflow on %s differs from the applying one: copy the same file there", host))
	}
	if err := os.Chdir(h.Dir); err != nil {
		return nil,
			fmt.Errorf("%s does not see mxflow's working directory (%w): put the plan on a shared file system, or "+
				"copy its folder there under the same path", host, err)
	}
	res := load.Path(h.Plan, steps.Registry(), load.Options{As: &h.Inputs})
	if !res.OK() || res.Plan.Digest() != h.Digest {
		why := "has other content"
		if i := slices.IndexFunc(res.Diagnostics, func(d *hcl.Diagnostic) bool {
			return d.Severity == hcl.DiagError
		}); i >= 0 {
			why = "cannot be read (" + res.Diagnostics[i].Summary + ")"
		}
		return nil,
			fmt.Errorf("the plan %s on %s %s: put the same files there, and leave them unchanged during the apply",
				filepath.Join(h.Dir, h.Plan), host, why)
	}
	var err error
	if w.graph, err = runtime.NewGraph(res.Plan); err != nil {
		return nil, err
	}
	state := stateOf(w.dir)
	if w.store, err = store.Open(state); err != nil {
		return nil, err
	}
	if len(h.Seal) > 0 {
		if err := os.WriteFile(filepath.Join(state, store.SecretName), []byte(hex.EncodeToString(h.Seal)+"\n"),
			0o600); err != nil {
			return nil, err
		}
	}
	if w.lab, err = NewLab(Wiring{
		Plan: res.Plan, Graph: w.graph, Store: w.store, Owner: h.Owner,
		RunDir: filepath.Join(w.dir, "run"), Since: h.Since,
	}); err != nil {
		return nil, err
	}
	if w.place, err = placeOf(w.soft, h, host); err != nil {
		return nil, err
	}
	return &remote.Ready{Place: w.place, Job: cmp.Or(h.Job, os.Getenv("SLURM_JOB_ID"))}, nil
}

// placeOf is a worker's place: the devices that it was given, or those of its job.
func placeOf(ctx context.Context, h *remote.Hello, host string) (*ledger.Place, error) {
	on := &ledger.Place{Name: host, Host: host, Boot: machine.BootID()}
	if n := os.Getenv("SLURM_STEP_NUM_NODES"); n != "" && n != "1" {
		on.Name = os.Getenv("SLURM_STEP_NODELIST") // of an engine of several nodes
	}
	job := cmp.Or(os.Getenv("SLURM_STEP_GPUS"), os.Getenv("SLURM_JOB_GPUS"))
	if len(h.Devices) == 0 && job == "" && h.Job == "" {
		return on, nil
	}
	all, err := machine.GPUs(ctx)
	if len(h.Devices) > 0 {
		if err != nil {
			return nil, fmt.Errorf("the executor lists GPUs, but those of %s cannot be listed: %w", host, err)
		}
		chosen, err := machine.ChooseGPUs(all, nil, h.Devices)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
		var indices []string
		for _, g := range chosen {
			on.GPUs, indices = append(on.GPUs, g.UUID), append(indices, strconv.Itoa(g.Index))
		}
		on.Name += " gpu " + strings.Join(indices, ",")
		return on, nil
	}
	if err == nil && len(all) > 0 {
		visible, _, _ := machine.SelectedGPUs(all, nil, os.LookupEnv)
		for _, g := range visible {
			on.GPUs = append(on.GPUs, g.UUID)
		}
	}
	switch {
	case h.Job == "":
		on.Name += " gpu " + job
	case len(on.GPUs) > 0:
		// A pod numbers its GPUs from 0, whichever they are.
		on.Name += " gpu " + strings.Join(on.GPUs, ",")
	default:
		on.Name += " slot " + strconv.Itoa(h.Slot) // a node has several pods
	}
	return on, nil
}

// carry executes an order and sends the result.
func (w *worker) carry(ctx context.Context, o *launch.Order) {
	done, err := w.make(ctx, o)
	var m remote.Message
	switch {
	case ctx.Err() != nil:
		m.Stop = true
	case err != nil:
		m.Failed = failedBy(err)
	default:
		m.Done = done
		if m.Sum, err = remote.Sum(done); err != nil {
			m = remote.Message{Failed: failedBy(err)}
		}
	}
	_ = w.wire.Send(m) // if no mxflow receives it, the launch is lost
}

// failedBy is why a launch could not be made: it would differ here, or this machine could
// not continue.
func failedBy(err error) verdict.Reason {
	if f := (*verdict.Fault)(nil); errors.As(err, &f) && f.Reason.Kind == code.WorkerRefuses.Kind {
		return f.Reason
	}
	return verdict.New(code.LaunchGone, verdict.Text("class", launch.GoneBroke), verdict.Line(err))
}

// make makes a launch and sends its artifacts.
func (w *worker) make(ctx context.Context, o *launch.Order) (*launch.OrderResult, error) {
	node := w.graph.Node(o.Node)
	if node == nil {
		return nil, fmt.Errorf("the plan has no node %s", o.Node)
	}
	for _, r := range o.Needs {
		if _, known := w.store.LaunchByID(r.Launch.ID); known {
			continue
		}
		if err := w.store.Append(r); err != nil {
			return nil, err
		}
	}
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	o.Record.Place = w.place
	sent := o.Record.Prompts // the sender of the order has them
	s := &runtime.Scope{
		Plan: w.lab.Variants.Plan, Node: node, Run: o.Run, Context: ctx, Force: hard,
		Emit: func(ev runtime.Event) { _ = w.wire.Send(remote.Message{Event: &ev}) },
	}
	result, err := w.lab.Sessions.Carry(ctx, s, o)
	if err != nil {
		return nil, err
	}
	for _, sum := range store.ArtifactsOf(o.Record) {
		if sum == sent {
			continue
		}
		data, err := w.store.Get(sum)
		if err == nil {
			err = w.wire.Send(remote.Message{Sum: sum, Data: data})
		}
		if err != nil {
			return nil, err
		}
	}
	return &launch.OrderResult{Record: o.Record, Result: result}, nil
}

// newPool makes the workers of an apply, if its plan has launches made remote.
func (r *run) newPool(owner string) (*remote.Pool, error) {
	if !r.plan.Executor.IsRemote() {
		return nil, nil
	}
	h := remote.Hello{
		Since: r.lab.Variants.Since, Plan: r.Path, Inputs: r.Loaded.Inputs(),
		Digest: r.plan.Digest(), Owner: owner,
	}
	h.Inputs.Sealed = nil // it receives all
	var err error
	if h.Dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	if len(r.plan.Secrets()) > 0 {
		if h.Seal, err = store.SecretKey(r.store.Dir()); err != nil {
			return nil, err
		}
	}
	p := &remote.Pool{Plan: r.plan, Store: r.store, Force: r.Force}
	if r.plan.Executor.Kind == plans.KubernetesExecutor {
		key, err := store.SecretKey(r.store.Dir())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append([]byte("jobs of "), key...))
		p.Jobs = hex.EncodeToString(sum[:8])
	}
	if p.Program, h.Program, err = remote.ProgramSum(); err != nil {
		return nil, err
	}
	p.Hello = h
	jobs, err := p.Sweep(r.Force)
	if err != nil {
		return nil, fmt.Errorf("executor %q: %w", r.plan.Executor.Kind, err)
	}
	for _, job := range jobs {
		r.watch.Note(verdict.Say("left.job", "cancelled job {subject}, left by a killed apply").On(job))
	}
	return p, nil
}
