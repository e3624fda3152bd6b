package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
)

// Pool is the workers of one apply. It implements launch.Remote.
type Pool struct {
	// Plan has the executor, Store takes the workers' results.
	Plan  *plans.Plan
	Store *store.Store
	Hello Hello
	// Force cuts graceful stops short.
	Force context.Context

	Program string
	// Jobs marks the Jobs of Kubernetes. Hello.Owner is unique only on one machine: it is
	// a path, which many people share.
	Jobs string

	mu    sync.Mutex
	slots []*slot
	// copied are the hosts that mxflow was copied to.
	copied map[string]error
	// silence is Silence where it is zero.
	silence time.Duration
}

// slot has one worker at a time.
type slot struct {
	// starting is held while a worker is started; worker is guarded by the pool.
	starting sync.Mutex
	worker   *worker
}

// worker is mxflow on another machine.
type worker struct {
	// making is held while it executes an order.
	making sync.Mutex
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	wire   *Wire
	ready  Ready
	// has are the artifacts exchanged with it, used by the goroutine that makes a launch.
	has map[string]bool
	// from are its messages, until it is gone.
	from chan Message
	// gone is closed then, and class is how it was lost.
	gone  chan struct{}
	class string
	why   error
	said  *foreign.Tail
}

func (w *worker) isOver() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// liveWorkers are the workers that are there, by slot.
func (p *Pool) liveWorkers() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*worker
	for _, s := range p.slots {
		if s.worker != nil && !s.worker.isOver() {
			all = append(all, s.worker)
		}
	}
	return all
}

func (p *Pool) Stand(ctx context.Context, n int, wanted []*ledger.Place, note func(verdict.Reason)) (*ledger.Place,
	error,
) {
	for _, w := range p.liveWorkers() {
		if slices.ContainsFunc(wanted, func(on *ledger.Place) bool { return on.Same(w.ready.Place) }) {
			return w.ready.Place, nil
		}
	}
	p.mu.Lock()
	for len(p.slots) <= n {
		p.slots = append(p.slots, &slot{})
	}
	s := p.slots[n]
	p.mu.Unlock()
	s.starting.Lock()
	defer s.starting.Unlock()
	p.mu.Lock()
	before := s.worker
	p.mu.Unlock()
	if before != nil {
		if !before.isOver() {
			return before.ready.Place, nil
		}
		p.dropJob(before.ready.Job) // it was lost between launches
	}
	w, err := p.start(ctx, n, note)
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	p.mu.Lock()
	s.worker = w
	p.mu.Unlock()
	note(verdict.Say("worker.ready", "launching on {subject}{job? (job {job})}",
		verdict.Text("job", w.ready.Job)).On(w.ready.Place.Name))
	return w.ready.Place, nil
}

// dropJob gives up the job of a worker that is gone.
func (p *Pool) dropJob(job string) {
	if job != "" {
		_ = p.scheduler().drop(context.WithoutCancel(p.Force), job) // or else by Close
	}
}

// start starts the worker of a slot and waits until it takes orders.
func (p *Pool) start(ctx context.Context, n int, note func(verdict.Reason)) (w *worker, err error) {
	hello := p.Hello
	defer func() {
		if err != nil {
			p.dropJob(hello.Job)
		}
	}()
	argv, err := p.scheduler().command(ctx, n, &hello, note)
	if err != nil {
		return nil, err
	}
	w = &worker{
		cmd: exec.Command(argv[0], argv[1:]...), from: make(chan Message, 16), has: map[string]bool{},
		gone: make(chan struct{}), said: &foreign.Tail{Limit: mostSaid},
	}
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for mxflow only
	w.cmd.Stderr = w.said
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not StdoutPipe, which Wait closes under its reader.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	w.cmd.Stdout, w.wire = in, NewWire(out, w.stdin)
	err = w.cmd.Start()
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("executor %q: %w; is %s installed here?", p.Plan.Executor.Kind, err, argv[0])
	}
	go w.read(out, cmp.Or(p.silence, Silence))
	go w.wire.StayAlive(w.gone)
	if err := w.wire.Send(Message{Hello: &hello}); err != nil && !w.isOver() {
		w.end(p.Force)
		return nil, p.unstarted(w, argv)
	}
	waits := time.NewTimer(waitingAfter)
	defer waits.Stop()
	for {
		select {
		case <-ctx.Done():
			w.end(p.Force)
			return nil, ctx.Err()
		case <-waits.C:
			note(verdict.New(code.WorkerWaits, verdict.Int("slot", n+1), verdict.Text("says", lastLine(w.said))))
		case <-w.gone:
			return nil, p.unstarted(w, argv)
		case m := <-w.from:
			switch {
			case !m.Failed.IsZero():
				w.end(p.Force)
				return nil, &verdict.Fault{Reason: m.Failed}
			case m.Ready != nil && m.Ready.Place != nil:
				w.ready = *m.Ready
				return w, nil
			}
		}
	}
}

// waitingAfter is when waiting for a worker is reported.
const waitingAfter = 5 * time.Second

// unstarted is why a worker never took orders.
func (p *Pool) unstarted(w *worker, argv []string) error {
	says := w.said.String()
	if says == "" && w.why != nil {
		says = w.why.Error()
	}
	return &verdict.Fault{Reason: verdict.Say("worker.unstarted",
		`executor "{subject}" started no worker; it ran: {command}{says?; output: {says}}`,
		verdict.Text("command", strings.Join(argv, " ")), verdict.Text("says", says)).On(p.Plan.Executor.Kind)}
}

// read reads a worker's messages until it ends or is silent for too long.
func (w *worker) read(out *os.File, silence time.Duration) {
	received := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		for {
			m, err := w.wire.Receive()
			if err != nil {
				ended <- err
				return
			}
			select {
			case received <- struct{}{}:
			default:
			}
			if m.Ready != nil || m.Event != nil || m.Done != nil || m.Sum != "" || m.Stop || !m.Failed.IsZero() {
				select {
				case w.from <- m:
				case <-w.gone:
					ended <- io.EOF
					return
				}
			}
		}
	}()
	// A job may wait in its queue indefinitely.
	var silent <-chan time.Time
	timer := time.NewTimer(silence)
	defer timer.Stop()
	for w.class == "" {
		select {
		case <-received:
			timer.Reset(silence)
			silent = timer.C
		case <-silent:
			w.class = launch.GoneSilent
		case w.why = <-ended:
			w.class = launch.GoneEnded
			if bad := (damaged{}); errors.As(w.why, &bad) {
				w.class = launch.GoneDamaged
			}
		}
	}
	_ = w.stdin.Close()
	if w.class != launch.GoneEnded {
		_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL)
	}
	done := make(chan struct{})
	go func() {
		_ = w.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(endsWithin):
		_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL)
		<-done
	}
	_ = out.Close()
	close(w.gone)
}

// endsWithin is how long a worker's command may take to end after its output has.
const endsWithin = 30 * time.Second

// end asks a worker to end by closing its input, and waits until it has or hard does.
func (w *worker) end(hard context.Context) {
	_ = w.stdin.Close()
	if w.ready.Place == nil {
		// It may still wait for a node, reading nothing; srun then leaves the queue.
		_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGTERM)
	}
	kill := time.NewTimer(endsWithin)
	defer kill.Stop()
	select {
	case <-w.gone:
		return
	case <-kill.C:
	case <-hard.Done():
	}
	_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL)
	<-w.gone
}

func (p *Pool) Make(ctx, hard context.Context, o *launch.Order, emit func(runtime.Event)) (*launch.OrderResult, error) {
	// The place must be that worker's own, not just an equal one.
	workers := p.liveWorkers()
	at := slices.IndexFunc(workers, func(w *worker) bool { return w.ready.Place == o.Record.Place })
	if at < 0 {
		return nil,
			&launch.LostError{Why: verdict.New(code.LaunchGone, verdict.Text("class", launch.GoneEnded)).
				On(o.Record.PlaceName())}
	}
	w := workers[at]
	w.making.Lock()
	defer w.making.Unlock()
	if err := p.send(w, o); err != nil {
		return nil, err
	}
	stopped := ctx.Done()
	for {
		var m Message
		select {
		case m = <-w.from: // what it sent before it was lost
		default:
			select {
			case <-stopped:
				stopped = nil
				_ = w.wire.Send(Message{Stop: true})
				continue
			case <-hard.Done():
				w.end(hard)
				return nil, context.Cause(hard)
			case <-w.gone:
				if len(w.from) > 0 {
					continue
				}
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				return nil, p.workerLost(w, w.class, nil)
			case m = <-w.from:
			}
		}
		switch {
		case m.Event != nil:
			emit(*m.Event)
		case m.Done != nil && ctx.Err() == nil:
			if err := p.checkComplete(o, m, w.has); err != nil {
				w.end(hard)
				return nil, p.workerLost(w, launch.GoneDamaged, err)
			}
			return m.Done, nil
		case m.Sum != "" && m.Done == nil:
			sum, err := p.Store.Put(m.Data)
			if err != nil {
				w.end(hard)
				return nil, err
			}
			w.has[sum] = true
		case !m.Failed.IsZero() && ctx.Err() == nil && m.Failed.Kind == code.WorkerRefuses.Kind: // as it would again
			return nil, &verdict.Fault{Reason: m.Failed.On(w.ready.Place.Name)}
		case !m.Failed.IsZero() && ctx.Err() == nil:
			return nil, &launch.LostError{Why: m.Failed.On(w.ready.Place.Name)}
		case ctx.Err() != nil && (m.Stop || m.Done != nil || !m.Failed.IsZero()):
			return nil, ctx.Err()
		case m.Stop: // another process ended it
			return nil, p.workerLost(w, launch.GoneEnded, nil)
		}
	}
}

// send sends an order, preceded by what it needs.
func (p *Pool) send(w *worker, o *launch.Order) error {
	var sums []string
	if o.Record.Prompts != "" {
		sums = append(sums, o.Record.Prompts)
	}
	for _, r := range o.Needs {
		sums = append(sums, slices.Sorted(maps.Values(r.Launch.Left))...)
	}
	for _, sum := range sums {
		if w.has[sum] {
			continue
		}
		data, err := p.Store.Get(sum)
		if err != nil {
			return err
		}
		if w.wire.Send(Message{Sum: sum, Data: data}) != nil {
			return p.workerLost(w, launch.GoneEnded, nil)
		}
		w.has[sum] = true
	}
	if w.wire.Send(Message{Order: o}) != nil {
		return p.workerLost(w, launch.GoneEnded, nil)
	}
	return nil
}

// workerLost is the error for a launch lost with its worker, which is gone when this returns.
func (p *Pool) workerLost(w *worker, class string, err error) error {
	w.end(p.Force)
	says := lastLine(w.said)
	if err != nil {
		says = err.Error()
	}
	args := []verdict.Arg{}
	if job := w.ready.Job; job != "" {
		args = append(args, verdict.Text("job", job))
		if why := p.scheduler().ended(context.WithoutCancel(p.Force), job); why != "" && class == launch.GoneEnded {
			class, says = launch.GoneJob, why
		}
		p.dropJob(job)
	}
	if says != "" {
		args = append(args, verdict.Text("error", says))
	}
	return &launch.LostError{Why: verdict.New(code.LaunchGone, append(args, verdict.Text("class", class))...).
		On(w.ready.Place.Name)}
}

// checkComplete checks that a result is complete: as sent, of the ordered launch, with everything
// that its record names.
func (p *Pool) checkComplete(o *launch.Order, m Message, has map[string]bool) error {
	sum, err := Sum(m.Done)
	if err != nil {
		return err
	}
	r := m.Done.Record
	if sum != m.Sum || r == nil {
		return errors.New("its digest does not match")
	}
	was := o.Record
	for _, same := range [][2]string{
		{was.ID, r.ID},
		{was.Session, r.Session},
		{was.Purpose, r.Purpose},
		{was.Work, r.Work},
		{was.Replaces, r.Replaces},
		{was.Body, r.Body},
		{o.Variant.Key, r.VariantKey},
		{o.Node, r.Node},
		{strconv.Itoa(was.Ordinal), strconv.Itoa(r.Ordinal)},
		{strconv.Itoa(was.Order), strconv.Itoa(r.Order)},
		{was.Draw.Seed, r.Draw.Seed},
		{cmp.Or(was.Prompts, r.Prompts), r.Prompts},
		{was.PlaceName(), r.PlaceName()},
	} {
		if same[0] != same[1] {
			return fmt.Errorf("it is from another launch: %q instead of %q", same[1], same[0])
		}
	}
	for _, sum := range store.ArtifactsOf(r) {
		if !has[sum] {
			return fmt.Errorf("artifact %s is missing", sum)
		}
	}
	return nil
}

// Close ends all workers, and with them their jobs, including those still waiting for a
// node.
func (p *Pool) Close() {
	var all sync.WaitGroup
	for _, w := range p.liveWorkers() {
		all.Go(func() { w.end(p.Force) })
	}
	all.Wait()
	_, _ = p.Sweep(context.WithoutCancel(p.Force)) // the next apply reports what is left
}

// Sweep gives up the jobs that a killed apply left, and returns their names.
func (p *Pool) Sweep(ctx context.Context) ([]string, error) { return p.scheduler().sweep(ctx) }
