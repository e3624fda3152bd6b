package elsewhere

import (
	"bytes"
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
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
)

// Pool is the workers of one apply. It implements launch.Elsewhere.
type Pool struct {
	// Plan has the executor, Store takes the workers' results.
	Plan  *plans.Plan
	Store *store.Store
	// Hello is sent to each worker.
	Hello Hello
	// Hard cuts graceful stops short.
	Hard context.Context

	// Program is the local path of mxflow.
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
	// starting is held while a worker is started, making while it executes an order.
	starting, making sync.Mutex
	mu               sync.Mutex
	worker           *worker
}

func (s *slot) live() *worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worker == nil || s.worker.over() {
		return nil
	}
	return s.worker
}

// worker is mxflow on another machine.
type worker struct {
	slot  *slot
	cmd   *exec.Cmd
	stdin io.WriteCloser
	wire  *Wire
	ready Ready
	// has are the artifacts exchanged with it, used by the goroutine that makes a launch.
	has map[string]bool
	// from are its messages, until it is gone.
	from chan Message
	// gone is closed then, and class is how it was lost.
	gone  chan struct{}
	class string
	why   error
	said  *tail
}

func (w *worker) over() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// cluster is that of an executor of Kubernetes.
func (p *Pool) cluster() *cluster { return &cluster{p.Plan.Executor, p.Jobs} }

// slotAt returns a slot by its number from 0.
func (p *Pool) slotAt(n int) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.slots) <= n {
		p.slots = append(p.slots, &slot{})
	}
	return p.slots[n]
}

// all returns the slots so far.
func (p *Pool) all() []*slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.slots)
}

// Stand implements launch.Elsewhere.
func (p *Pool) Stand(ctx context.Context, n int, wanted []*ledger.Place, note func(verdict.Reason)) (*ledger.Place, error) {
	for _, s := range p.all() {
		if w := s.live(); w != nil && slices.ContainsFunc(wanted, func(on *ledger.Place) bool { return on.Same(w.ready.Place) }) {
			return w.ready.Place, nil
		}
	}
	s := p.slotAt(n)
	s.starting.Lock()
	defer s.starting.Unlock()
	if w := s.live(); w != nil {
		return w.ready.Place, nil
	}
	s.mu.Lock()
	if s.worker != nil {
		p.leave(s.worker.ready.Job) // it was lost between launches
	}
	s.mu.Unlock()
	w, err := p.start(ctx, n, s, note)
	for again := 0; err != nil && again < mostRestarts; again++ {
		taken := (*taken)(nil)
		if !errors.As(err, &taken) {
			break
		}
		note(verdict.New(code.WorkerWaits, verdict.Int("slot", n+1), verdict.Text("says", taken.says)))
		w, err = p.start(ctx, n, s, note)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	s.mu.Lock()
	s.worker = w
	s.mu.Unlock()
	note(verdict.New(code.WorkerReady, verdict.Text("job", w.ready.Job)).On(w.ready.Place.Name))
	return w.ready.Place, nil
}

// start starts the worker of a slot and waits until it takes orders.
func (p *Pool) start(ctx context.Context, n int, s *slot, note func(verdict.Reason)) (w *worker, err error) {
	hello := p.Hello
	defer func() {
		if err == nil || hello.Job == "" {
			return
		}
		if says := p.cluster().taken(ctx, hello.Job); says != "" {
			err = &taken{err, says}
		}
		p.leave(hello.Job)
	}()
	argv, err := p.command(ctx, n, &hello, note)
	if err != nil {
		return nil, err
	}
	w = &worker{slot: s, cmd: exec.Command(argv[0], argv[1:]...), from: make(chan Message, 16), has: map[string]bool{}, gone: make(chan struct{}), said: &tail{}}
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
	if err := w.wire.Send(Message{Hello: &hello}); err != nil && !w.over() {
		w.end(p.Hard)
		return nil, p.unstarted(w, argv)
	}
	waits := time.NewTimer(waitingAfter)
	defer waits.Stop()
	for {
		select {
		case <-ctx.Done():
			w.end(p.Hard)
			return nil, ctx.Err()
		case <-waits.C:
			note(verdict.New(code.WorkerWaits, verdict.Int("slot", n+1), verdict.Text("says", w.said.last())))
		case <-w.gone:
			return nil, p.unstarted(w, argv)
		case m := <-w.from:
			switch {
			case !m.Failed.IsZero():
				w.end(p.Hard)
				return nil, &verdict.Fault{Reason: m.Failed}
			case m.Ready != nil && m.Ready.Place != nil:
				w.ready = *m.Ready
				return w, nil
			}
		}
	}
}

// mostRestarts is how often a job that its scheduler removed before its worker was ready
// is immediately recreated.
const mostRestarts = 5

// taken is the error of a worker that was not started because its job was removed.
type taken struct {
	error
	says string
}

func (t *taken) Unwrap() error { return t.error }

// waitingAfter is when waiting for a worker is reported.
const waitingAfter = 5 * time.Second

// unstarted is why a worker never took orders.
func (p *Pool) unstarted(w *worker, argv []string) error {
	says := w.said.text()
	if says == "" && w.why != nil {
		says = w.why.Error()
	}
	return &verdict.Fault{Reason: verdict.New(code.WorkerUnstarted, verdict.Text("command", strings.Join(argv, " ")), verdict.Text("says", says)).On(p.Plan.Executor.Kind)}
}

// command is what starts a slot's worker, and completes its Hello.
func (p *Pool) command(ctx context.Context, n int, hello *Hello, note func(verdict.Reason)) ([]string, error) {
	x := p.Plan.Executor
	program := x.Program
	if program == "" {
		program = p.Program
	}
	if x.Kind == plans.SlurmExecutor {
		argv := append(slices.Clone(x.Command), "--job-name="+p.jobName(n), "--nodes=1", "--ntasks=1", "--unbuffered")
		for _, asked := range [][2]string{{"account", x.Account}, {"gres", x.GRES}, {"partition", x.Partition}, {"time", x.Time}} {
			if asked[1] != "" {
				argv = append(argv, "--"+asked[0]+"="+asked[1])
			}
		}
		return append(append(argv, x.Args...), program, "worker"), nil
	}
	if x.Kind == plans.KubernetesExecutor {
		return p.inPod(ctx, n, hello, note)
	}
	places := max(1, len(x.Devices)/x.PerLaunch)
	hello.Host = x.Hosts[n/places]
	if len(x.Devices) > 0 {
		at := n % places * x.PerLaunch
		hello.Devices = x.Devices[at : at+x.PerLaunch]
	}
	argv := make([]string, len(x.Command))
	for i, arg := range x.Command {
		argv[i] = strings.ReplaceAll(arg, "{host}", hello.Host)
	}
	if x.Program == "" {
		var err error
		if program, err = p.copy(ctx, argv, hello.Host, `"$HOME"/.cache/mxflow`); err != nil {
			return nil, err
		}
	} else {
		program = asWritten(program)
	}
	return append(argv, "exec "+program+" worker"), nil
}

// asWritten quotes a path for a shell on another machine, where ~/ is the home there.
func asWritten(path string) string {
	if under, is := strings.CutPrefix(path, "~/"); is {
		return `"$HOME"/` + shell.Quote(under)
	}
	return shell.Quote(path)
}

// inPod is command for a slot of Kubernetes: it creates the Job and waits for its pod.
func (p *Pool) inPod(ctx context.Context, n int, hello *Hello, note func(verdict.Reason)) ([]string, error) {
	c := p.cluster()
	var err error
	if hello.Job, err = c.create(ctx, n); err != nil {
		return nil, fmt.Errorf("executor %q: %w", c.x.Kind, err)
	}
	on, err := c.ready(ctx, n, hello.Job, note)
	if err != nil {
		return nil, err
	}
	hello.Host, hello.Slot = on.node, n+1
	argv, err := c.exec(on)
	if err != nil {
		return nil, err
	}
	program := asWritten(c.x.Program)
	if c.x.Program == "" {
		if program, err = p.copy(ctx, argv, on.name, `"${TMPDIR:-/tmp}"/mxflow`); err != nil {
			return nil, err
		}
	}
	return append(argv, "echo $$ > "+workerFile+"; exec "+program+" worker"), nil
}

// leave gives up the job of a lost worker, if nothing else does.
func (p *Pool) leave(job string) {
	if job != "" && p.Plan.Executor.Kind == plans.KubernetesExecutor {
		_ = p.cluster().drop(context.WithoutCancel(p.Hard), job) // or else by Close
	}
}

// patience is how long a scheduler may take to answer.
const patience = 20 * time.Second

// ask runs a scheduler's command and returns what it prints.
func ask(ctx context.Context, in io.Reader, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said := &tail{}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stderr = in, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for mxflow only
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w %s", strings.Join(argv, " "), err, said.last())
	}
	return string(out), err
}

// copy copies mxflow to a host's folder once, unless it is there, and returns the path
// for its shell.
func (p *Pool) copy(ctx context.Context, to []string, host, folder string) (string, error) {
	program := folder + "/mxflow-" + p.Hello.Program[:16]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err, known := p.copied[host]; known {
		return program, err
	}
	if p.copied == nil {
		p.copied = map[string]error{}
	}
	said := &tail{}
	run := func(script string, in io.Reader) error {
		cmd := exec.CommandContext(ctx, to[0], append(slices.Clone(to[1:]), script)...)
		cmd.Stdin, cmd.Stderr = in, said
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return cmd.Run()
	}
	err := run("test -x "+program, nil)
	if err != nil {
		var file *os.File
		if file, err = os.Open(p.Program); err == nil {
			// Earlier copies that may still run are not removed. Small images have no
			// find.
			err = run(fmt.Sprintf("mkdir -p %[1]s && cat > %[2]s.$$ && chmod 755 %[2]s.$$ && mv %[2]s.$$ %[2]s && { find %[1]s -name 'mxflow-*' -mtime +30 -exec rm -f {} + || :; }", folder, program), file)
			_ = file.Close()
		}
	}
	if err != nil {
		err = &verdict.Fault{Reason: verdict.New(code.WorkerUncopied, verdict.Text("command", strings.Join(to, " ")), verdict.Text("says", said.text()), verdict.Err(err)).On(host)}
	}
	if ctx.Err() == nil {
		p.copied[host] = err
	}
	return program, err
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

// Make implements launch.Elsewhere.
func (p *Pool) Make(ctx, hard context.Context, o *launch.Order, emit func(runtime.Event)) (*launch.Done, error) {
	var w *worker
	for _, s := range p.all() {
		// The place must be that worker's own, not just an equal one.
		if own := s.live(); own != nil && own.ready.Place == o.Record.Place {
			w = own
		}
	}
	if w == nil {
		return nil, &launch.Gone{Why: verdict.New(code.LaunchGone, verdict.Text("class", launch.GoneEnded)).On(o.Record.On())}
	}
	w.slot.making.Lock()
	defer w.slot.making.Unlock()
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
				return nil, p.lost(w, w.class, nil)
			case m = <-w.from:
			}
		}
		switch {
		case m.Event != nil:
			emit(*m.Event)
		case m.Done != nil && ctx.Err() == nil:
			if err := p.whole(o, m, w.has); err != nil {
				w.end(hard)
				return nil, p.lost(w, launch.GoneDamaged, err)
			}
			return m.Done, nil
		case m.Sum != "" && m.Done == nil:
			sum, err := p.Store.Put(m.Data)
			if err != nil {
				w.end(hard)
				return nil, err
			}
			w.has[sum] = true
		case !m.Failed.IsZero() && ctx.Err() == nil:
			return nil, failed(m.Failed, w)
		case ctx.Err() != nil && (m.Stop || m.Done != nil || !m.Failed.IsZero()):
			return nil, ctx.Err()
		case m.Stop: // another process ended it
			return nil, p.lost(w, launch.GoneEnded, nil)
		}
	}
}

// failed is what a worker could not do: a refusal would be repeated, anything else loses
// the launch.
func failed(why verdict.Reason, w *worker) error {
	if why.Code == code.WorkerRefuses {
		return &verdict.Fault{Reason: why.On(w.ready.Place.Name)}
	}
	return &launch.Gone{Why: why.On(w.ready.Place.Name)}
}

// send sends an order, preceded by what it needs.
func (p *Pool) send(w *worker, o *launch.Order) error {
	var sums []string
	if o.Record.Prompts != "" {
		sums = append(sums, o.Record.Prompts)
	}
	for _, r := range o.Needs {
		sums = slices.AppendSeq(sums, maps.Values(r.Launch.Left))
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
			return p.lost(w, launch.GoneEnded, nil)
		}
		w.has[sum] = true
	}
	if w.wire.Send(Message{Order: o}) != nil {
		return p.lost(w, launch.GoneEnded, nil)
	}
	return nil
}

// lost is the error for a launch lost with its worker, which is gone when this returns.
func (p *Pool) lost(w *worker, class string, err error) error {
	w.end(p.Hard)
	says := w.said.last()
	if err != nil {
		says = err.Error()
	}
	args := []verdict.Arg{}
	if w.ready.Job != "" {
		args = append(args, verdict.Text("job", w.ready.Job))
		if of, why := p.endOfJob(w.ready.Job); of != "" && class == launch.GoneEnded {
			class, says = of, cmp.Or(why, says)
		}
		p.leave(w.ready.Job)
	}
	if says != "" {
		args = append(args, verdict.Text("error", says))
	}
	return &launch.Gone{Why: verdict.New(code.LaunchGone, append(args, verdict.Text("class", class))...).On(w.ready.Place.Name)}
}

// whole checks that a result is complete: as sent, of the ordered launch, with everything
// that its record names.
func (p *Pool) whole(o *launch.Order, m Message, has map[string]bool) error {
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
		{was.On(), r.On()},
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
	for _, s := range p.all() {
		if w := s.live(); w != nil {
			all.Go(func() { w.end(p.Hard) })
		}
	}
	all.Wait()
	_, _ = p.Sweep(context.WithoutCancel(p.Hard)) // the next apply reports what is left
}

// tail keeps the end of a command's output.
type tail struct {
	mu   sync.Mutex
	said []byte
}

// mostSaid is how many bytes of that are kept.
const mostSaid = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.said = append(t.said, b...)
	t.said = t.said[max(0, len(t.said)-mostSaid):]
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.said))
}

func (t *tail) last() string {
	text := t.text()
	return text[strings.LastIndexByte(text, '\n')+1:]
}
