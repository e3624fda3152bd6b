package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/httpclient"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// Fetch pulls the images that variants start from, before their keys count: an image
// pulled by the first launch would look like another one to the next apply.
func (l *Lab) Fetch(ctx context.Context, vs ...*variant.Variant) error {
	f, ok := l.Launcher.(engine.Fetcher)
	if !ok {
		return nil
	}
	for _, v := range vs {
		err := f.Fetch(ctx, v.Spec, l.Maker)
		if err != nil {
			return err
		}
	}
	return nil
}

// Lab is what the launches of one apply share.
type Lab struct {
	Variants *variant.Resolver
	Graph    *runtime.Graph
	Store    *store.Store
	Launcher engine.Launcher
	// Owner marks what is started on behalf of this state directory.
	Owner string
	// RunDir is the folder of this run; engine logs go below it.
	RunDir string
	// Draws are the source of the launches' texts; nil draws none.
	Draws *ledger.Draws
	// Boot is the boot of this machine: a session cut by a reboot is redone.
	Boot string
	// Redact removes sensitive values from logs and answers.
	Redact *redact.Redactor
	// Elsewhere makes launches on other machines; nil makes them here.
	Elsewhere Remote
	// Maker names the step of the plan that makes an image; empty
	// if there is none.
	Maker func(image string) string

	// asking and asked cache goals, which follows from the plan alone.
	asking sync.Once
	asked  map[string]ledger.Goal
	// gpus are the GPUs that this apply holds, metadata its collected metadata.
	gpus gpuHold
	// own is what engines inherit (machine.Inherited), as before the first launch.
	own   map[string]string
	begin sync.Once
	// running is what earlier launches could not end.
	running unstoppedEngines
	// usedBy are the files that launches ran, by the artifact that lists them.
	usedMu sync.Mutex
	usedBy map[string]source.Used
	// models are the folders of the models that launches of this apply served, by launch;
	// empty for those without.
	models map[string]string
	// providing lets only one launch at a time prepare its sources and caches.
	providing sync.Mutex
	// places are what the plan's executor divides this host into, unplaced why it cannot.
	placing  sync.Once
	places   []*ledger.Place
	unplaced error
}

// Started is one running engine, with the record of its launch.
type Started struct {
	Inst   engine.Instance
	Client *openai.Client
	Record *ledger.Launch
	Run    string
	Lab    *Lab
	Began  time.Time
	// API is the endpoint that the engine answers at, Models those that it lists, if any.
	API    openai.API
	Models []openai.Model
	// Kind says how the engine breaks, log how its launcher does.
	Kind kinds.Kind
	log  string
	How  engine.How
	// command is set if the engine ends by itself, Watch if it is measured: the machine
	// is watched from before its start.
	command commandUse
	Watch   *machine.Sampler
	// WarmingUp is how much longer its slowest warm-up took than the slowest measured request.
	WarmingUp time.Duration
	// Crashed is how often the variant crashed since its last launch that counts.
	Crashed int
	GPU     gpuUse
	// caches are the launch's own, nil if it uses whatever is there.
	caches *engine.Caches
	// Limit is what limits its speed, nil if unknown.
	Limit *limit.Basis
	// describe collects the launch's metadata, once. named is what its command names at its
	// start, and opened adds what it has open.
	describe func()
	named    source.Identity
	opened   func() (keep func())
	// here runs a command as the engine will, of what has not started; nil if that is in a container.
	here machine.Run
	// broke is the class of what broke it, if its log or its launcher shows one.
	broke kinds.Class
}

// LogFile is where the engine of a launch logs to, unless it is an endpoint.
func (l *Lab) LogFile(record *ledger.Launch) string {
	return filepath.Join(l.RunDir, "launches", runtime.FileName(record.ID)+".log")
}

// Launch starts a variant and waits until it is ready. If it never is, everything started
// is stopped, and the record says why.
func (l *Lab) Launch(ctx context.Context, s *runtime.Scope, v *variant.Variant, record *ledger.Launch) (*Started,
	error,
) {
	l.identify(ctx, s, v, record)
	log := l.LogFile(record)
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, fmt.Errorf("no folder for engine logs: %w", err)
	}
	st := &Started{Record: record, Run: s.Run, Lab: l, Kind: variant.KindOf(v.Spec), log: log, How: v.Spec.How()}
	// What earlier launches could not end is ended first: while any of it runs no launch
	// counts, so none is made.
	var err error
	l.running.mu.Lock()
	for len(l.running.list) > 0 && err == nil {
		if stopping := l.running.list[0].Stop(s.Force); stopping != nil {
			err = &verdict.Fault{Reason: verdict.New(code.Unstopped, verdict.Line(stopping))}
		} else {
			l.running.list = l.running.list[1:]
		}
	}
	l.running.mu.Unlock()
	if err == nil {
		err = l.altered()
	}
	if err == nil {
		v, err = l.provide(ctx, s, v, record)
		st.caches = v.Spec.Caches
	}
	if err == nil && record.Place == nil {
		// Without neighbours it runs on the first place, so it is comparable with those that
		// have some.
		var places []*ledger.Place
		if places, err = l.Places(ctx, []*variant.Variant{v}); len(places) > 0 {
			record.Place = places[0]
		}
	}
	if err == nil {
		if st.GPU, err = l.gpuBefore(ctx, s, v, record.Place); err == nil {
			v = st.GPU.selected(v, record.Place)
		}
	}
	st.Began = time.Now()
	record.Started = st.Began.UTC()
	if err != nil {
		st.RecordFailure(err)
		return st, err
	}
	st.command = commandUse{of: v.Command, dir: v.Spec.Dir, running: make(chan struct{})}
	if c := v.Command; c != nil && c.File != "" {
		st.command.before, _ = os.Stat(c.Path(v.Spec.Dir))
	}
	if err := st.watch(ctx, v.Spec); err != nil {
		st.unwatch()
		st.RecordFailure(err)
		return st, err
	}
	l.Variants.Read.Forget()
	st.named = l.Variants.Read.Take(v.Spec.Identity.Code()) // as it is now
	st.opened = func() func() { return st.keepUsed(v) }
	l.usedMu.Lock()
	if l.models == nil {
		l.models = map[string]string{}
	}
	l.models[record.ID] = ""
	l.usedMu.Unlock()
	st.describe = sync.OnceFunc(func() { l.describe(ctx, s, v, st) })
	st.command.started = time.Now()
	ev := runtime.Event{
		Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature, Variant: v.Name,
		LaunchID: record.ID,
	}
	for tries := 1; ; tries++ {
		err = st.start(ctx, s, v, ev)
		// Another program listens on a port that it needs: another start may get another.
		if err == nil || tries == portTries || st.How == engine.HowEndpoint || st.broke != kinds.Port {
			break
		}
		if st.Inst != nil {
			if err = st.Inst.Stop(s.Force); err != nil {
				break
			}
		}
		again := verdict.Say("engine.port_again", "started again on another port{causes?: {causes}}").From(record.Error)
		s.Emit(runtime.Event{Type: "note", Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature, Why: again})
		record.Notes = append(record.Notes, again)
		st.Inst, st.broke, record.OK, record.Error, record.Failure, record.Exit, record.LogTail = nil, "", true,
			verdict.Reason{}, "", nil, nil
	}
	if st.Inst == nil {
		st.unwatch()
		st.redactLog(log)
		st.describe()
		return st, err
	}
	close(st.command.running)
	if err == nil {
		if err = st.mark(ctx, v.Spec); err == nil {
			stop := st.loading(ctx, ev, s.Emit)
			err = st.firstRequest(ctx, v)
			stop()
		}
		if err != nil {
			st.RecordFailure(err)
		}
	}
	if err != nil {
		st.Stop(s)
		return st, err
	}
	ev.Type, ev.Seconds = "launch_ready", time.Since(st.Began).Seconds()
	s.Emit(ev)
	st.unforced(ctx, v)
	if st.command.of == nil {
		// A command is measured while it runs.
		st.describe()
	}
	return st, nil
}

// portTries is how often an engine is started whose port is taken: another program may
// take the next one too, but hardly three.
const portTries = 3

// start starts the engine and waits until it is ready. If that fails, the record says why.
func (st *Started) start(ctx context.Context, s *runtime.Scope, v *variant.Variant, ev runtime.Event) error {
	how := engine.Launch{
		ID: st.Record.ID, Owner: st.Lab.Owner, LogPath: st.log,
		Evidence: st.Lab.Variants.LogEvidence(v),
	}
	if v.Command != nil && v.Command.File == "" {
		how.OutPath = outPath(st.log) // else standard output goes to the log
	}
	inst, err := st.Lab.Launcher.Launch(ctx, v.Spec, how)
	if err == nil {
		st.Inst, st.Client = inst, ClientOf(inst, st.Kind, v.Spec.Model)
		maps.Copy(st.Record.Engine, inst.About())
		stop := st.loading(ctx, ev, s.Emit)
		if err = inst.Ready(ctx); err == nil {
			err = st.listModels(ctx, v)
		}
		stop()
	}
	if err != nil {
		st.RecordFailure(err)
	}
	return err
}

// ClientOf is a client for a running engine whose prompts bypass caches if the kind
// supports that.
func ClientOf(inst engine.Instance, kind kinds.Kind, model string) *openai.Client {
	access := inst.Access()
	client := openai.New(access.BaseURL, model)
	client.Header, client.Extra, client.Rename, client.Tokenizer = access.Header, kind.Ask.Extra, kind.Ask.Rename,
		tokenizerOf(kind.Tokenize)
	client.LogProbs = openai.LogProbs{AskIDs: kind.Ask.LogProbs.AskIDs, Prompt: kind.Ask.LogProbs.Prompt}
	idle := openai.IdleConnections
	if kind.Ask.ClosesStreams {
		idle = 0
	}
	client.HTTP = httpclient.New(access.TLS, idle)
	return client
}

// tokenizerOf is how a kind, or the plan's profile of it, counts the tokens of a text;
// the client's own way if it says nothing.
func tokenizerOf(t kinds.Tokenize) openai.Tokenizer {
	if t.Path == "" {
		return openai.Tokenizer{}
	}
	return openai.Tokenizer{Path: t.Path, Field: t.Field, Count: func(ctx context.Context, answer any) (int, error) {
		value, err := observe.RunJQ(ctx, t.Count, answer)
		if err != nil {
			return 0, err
		}
		switch n := value.(type) {
		case int:
			return n, nil
		case float64:
			if n == math.Trunc(n) {
				return int(n), nil
			}
		}
		return 0, fmt.Errorf("%s of its answer is %v, not a number of tokens", t.Count, value)
	}}
}

// Machine is the part of this machine that belongs to the running engine, to be watched.
func (st *Started) Machine() machine.SamplerConfig {
	c := st.GPU.Watched()
	if resident, ok := st.Inst.(engine.Resident); ok {
		c.Own, c.Host, c.Container = resident.PIDs, true, st.Inst.About()["container"]
	}
	return c
}

// Origin is what the launch's files say about their source.
func (st *Started) Origin() store.Origin {
	return store.Origin{Run: st.Run, Launch: st.Record.ID, Arm: st.Record.VariantKey}
}

// Leave stores content as an artifact of the launch, under a path that starts with what
// it belongs to.
func (st *Started) Leave(path string, content []byte) error {
	sum, err := st.Lab.Store.Put(content)
	return st.saveArtifactFile(path, sum, err)
}

// LeaveArtifact is Leave for an artifact that names its launch. A check of an engine, which is not
// recorded, keeps none.
func (st *Started) LeaveArtifact(path string, artifact store.Artifact) error {
	if st.Lab.Store == nil {
		return nil
	}
	*artifact.Origin() = st.Origin()
	data, err := json.Marshal(artifact)
	if err != nil {
		return fmt.Errorf("cannot keep %s: %w", path, err)
	}
	return st.Leave(path, data)
}

// LeaveFile is Leave for the content of a file.
func (st *Started) LeaveFile(path, file string) error {
	sum, err := st.Lab.Store.PutFile(file)
	return st.saveArtifactFile(path, sum, err)
}

func (st *Started) saveArtifactFile(path, sum string, err error) error {
	if err != nil {
		return fmt.Errorf("cannot keep %s: %w", path, err)
	}
	if st.Record.Left == nil {
		st.Record.Left = map[string]string{}
	}
	st.Record.Left[path] = sum
	return nil
}

// RecordFailure records how the engine failed. An engine that died during an answer appears as a
// broken connection, so its own end and last words say more than the client's error.
func (st *Started) RecordFailure(err error) {
	failure, ok := errors.AsType[*engine.Failure](err)
	st.Record.OK, st.Record.Error = false, brokenBy(err)
	switch {
	case ok && failure.Elsewhere.IsValid():
		st.Record.Error = st.wrongPort(failure)
		fallthrough
	case st.Record.Error.Kind == code.WrongModel.Kind:
		st.broke, st.Record.Failure = kinds.Config, ledger.Failure(kinds.Config.Blame())
	case ok && failure.Class != "":
		defer st.causedBy(failure.Class, diagnosed(failure.Class, kinds.PortTaken))
	default:
		defer st.diagnose()
	}
	if ok {
		var line []verdict.Arg
		for _, last := range failure.LogTail[max(0, len(failure.LogTail)-1):] {
			line = append(line, verdict.Text("line", st.Lab.Redact.Text(foreign.Short(last))))
		}
		if doing := startOf(failure.Doing, line...); !doing.IsZero() {
			st.Record.Error = st.Record.Error.From(doing)
		}
		st.Record.LogTail = failure.LogTail
		if failure.Exit != nil {
			st.Record.Exit = &failure.Exit.Code
		}
		return
	}
	if st.Inst == nil {
		return
	}
	st.Record.LogTail = logscan.Tail(st.Inst.LogPath(), 15)
	if c, ok := st.Inst.(engine.Checker); ok {
		_ = c.Alive(context.Background()) // limits itself; then Exited and Exit know of a server that ended
	}
	// A connection breaks a moment before the process is seen to have ended.
	select {
	case <-st.Inst.Exited():
	case <-time.After(500 * time.Millisecond):
	}
	if exit := st.Inst.Exit(); exit != nil {
		st.Record.Exit = &exit.Code
		if st.Record.Error.Kind != code.EngineEnded.Kind {
			st.Record.Error = verdict.New(code.EngineDied, verdict.Text("exit", exit.String()), verdict.Line(err))
		}
		st.Record.LogTail = logscan.Tail(st.Inst.LogPath(), 15)
	}
}

// wrongPort is an engine that serves where nobody asks, and what to do.
func (st *Started) wrongPort(f *engine.Failure) verdict.Reason {
	args := []verdict.Arg{
		verdict.Int("port", f.Port), verdict.Text("at", strconv.Itoa(int(f.Elsewhere.Port()))),
		verdict.Text("placeholder", "{port}"), verdict.Text("block", string(st.How)),
	}
	if at := f.Elsewhere; int(at.Port()) == f.Port {
		args[1] = verdict.Text("at", at.String())
		args = append(args, verdict.Text("address", at.Addr().String()))
	}
	return verdict.New(code.WrongPort, args...)
}

// brokenBy is how a launch broke: the fact that an error carries, or its text.
func brokenBy(err error) verdict.Reason {
	if f := (*verdict.Fault)(nil); errors.As(err, &f) {
		return f.Reason
	}
	return verdict.New(code.LaunchBroke, verdict.Line(err))
}

// Stop shuts the engine down gracefully, keeps its log, and completes the record.
func (st *Started) Stop(s *runtime.Scope) {
	st.unwatch()
	if st.Inst == nil {
		return
	}
	st.Client.Close()
	st.checkPortListener()
	if exit := st.Inst.Exit(); exit != nil && st.Record.OK && st.command.of == nil {
		st.Record.OK = false
		st.Record.Exit = &exit.Code
		st.Record.Error = verdict.New(code.EngineEnded, verdict.Text("exit", exit.String()))
		st.Record.LogTail = logscan.Tail(st.Inst.LogPath(), 15)
		st.diagnose()
	}
	if st.describe != nil {
		st.describe()
	}
	keep := st.opened()
	st.observeTune(s.Force)
	st.recordStop(st.Inst.Stop(s.Force))
	if i, ok := st.Inst.(engine.Intruder); ok && i.Opened() != "" {
		st.invalidate(verdict.Say("launch.memory_opened",
			"a process of the engine had {path} open, memory of mxflow, in which prompts lie before they are sent",
			verdict.Text("path", i.Opened())))
	}
	keep()
	st.loggedForce()
	if st.LogBroken() {
		st.Record.Notes = append(st.Record.Notes, verdict.New(code.LogBrokeOff))
	}
	if st.command.of != nil {
		_ = os.Remove(outPath(st.Inst.LogPath())) // by now an artifact or part of the log, both redacted
	}
	st.Record.Seconds = time.Since(st.Began).Seconds()
	// There is none unless there was a start and it completed.
	if took := st.Inst.Startup(); took > 0 && st.command.of == nil {
		// One that listens first, and loads at its first request, or at one of those that warm it
		// up, has not started yet.
		st.perLaunch("startup_s", took.Seconds()+st.Record.Metrics["engine.first_request_s"].Stats["median"]+
			st.WarmingUp.Seconds())
	}
	if peak := st.Inst.PeakMemory(); peak > 0 {
		st.perLaunch("memory_gb", float64(peak)/1e9)
	}
	crashes := st.Crashed
	if st.Record.Crashed() {
		crashes++
	}
	st.perLaunch("crashes", float64(crashes))
	if log := st.Inst.LogPath(); log != "" && st.redactLog(log) && st.Lab.Store != nil {
		var err error
		if st.Record.Log, err = st.Lab.Store.PutFile(log); err != nil {
			st.Record.Notes = append(st.Record.Notes, verdict.New(code.NotKept, verdict.Line(err)).On("log"))
		}
	}
	st.Record.Notes = append(st.Record.Notes, st.Lab.gpuAfter(s, st.GPU)...)
	if err := st.Lab.altered(); err != nil && st.Record.OK {
		st.Record.OK, st.Record.Error = false, brokenBy(err)
	}
}

// altered is the error that engines would inherit something else than the first did. What one
// did to mxflow outlasts it, and slows the launches of others: so none is made, and that in which
// it happened has broken.
func (l *Lab) altered() error {
	l.begin.Do(func() { l.own = machine.Inherited() })
	return differs(l.own, machine.Inherited())
}

func differs(began, now map[string]string) error {
	names := maps.Clone(now)
	maps.Copy(names, began)
	var changes []verdict.Reason
	for name := range sorted.All(names) {
		if was, is := began[name], now[name]; is != was {
			changes = append(changes, verdict.Say("launch.altered_in", "{subject} was {was}, is {is}",
				verdict.Text("was", cmp.Or(was, "unknown")), verdict.Text("is", cmp.Or(is, "unknown"))).On(name))
		}
	}
	if changes == nil {
		return nil
	}
	return &verdict.Fault{Reason: verdict.New(code.Altered).From(changes...)}
}

// checkPortListener breaks a launch at whose end another program listens on the engine's
// port, as that may have answered, and notes if the system does not tell.
func (st *Started) checkPortListener() {
	at, ok := st.Inst.(engine.Listener)
	if !ok || !st.Record.OK || st.command.of != nil || st.Inst.Exit() != nil {
		return
	}
	who, seen := at.PortUser()
	switch {
	case who != "":
		st.Record.OK, st.Record.Error = false, verdict.New(code.PortShared, verdict.Text("by", who))
		st.causedBy(kinds.Port, diagnosed(kinds.Port, kinds.PortTaken))
		st.Record.LogTail = logscan.Tail(st.Inst.LogPath(), engine.TailLines)
	case !seen:
		st.Record.Notes = append(st.Record.Notes, verdict.Say("engine.port_unseen",
			"not checked whether another program listens on the engine's port: this system does not tell"))
	}
}

// recordStop handles the result of stopping the engine, and records what it left running.
func (st *Started) recordStop(err error) {
	if err != nil {
		st.Lab.running.mu.Lock()
		st.Lab.running.list = append(st.Lab.running.list, st.Inst)
		st.Lab.running.mu.Unlock()
		if st.Record.OK {
			st.Record.Notes = append(st.Record.Notes, verdict.Say("launch.stopping", "stopping: {error}",
				verdict.Line(err)))
		}
	}
	if l, ok := st.Inst.(engine.Leaver); ok {
		if left := l.Leftovers(); len(left) > 0 {
			names := slices.Compact(slices.Clone(left))
			st.Record.Notes = append(st.Record.Notes, verdict.Say("launch.left_running",
				"still running after the engine exited: {names} ({n} in total); mxflow ended them",
				verdict.Int("n", len(left)), verdict.List("names", names[:min(mostNames, len(names))])))
		}
	}
}

// mostNames limits how many of these are named.
const mostNames = 5

type unstoppedEngines struct {
	mu   sync.Mutex
	list []engine.Instance
}

// redactLog removes sensitive values from a log. If that fails the log is deleted:
// without it there is less to see, with it too much.
func (st *Started) redactLog(path string) bool {
	err := redact.File(path, st.Lab.Redact)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		st.Record.Notes = append(st.Record.Notes, verdict.Say("launch.log_removed",
			"log removed, because sensitive values in it could not be redacted: {error}",
			verdict.Line(err)))
		_ = os.Remove(path)
	}
	return err == nil
}

// perLaunch adds a metric that has one value per launch.
func (st *Started) perLaunch(name string, value float64) {
	if summary, ok := measure.SummaryOf(name, []float64{value}); ok {
		st.addMetric("engine."+name, summary)
	}
}

func (st *Started) addMetric(address string, value measure.Summary) {
	if st.Record.Metrics == nil {
		st.Record.Metrics = map[string]measure.Summary{}
	}
	st.Record.Metrics[address] = value
}

// observing bounds all queries to one launch.
const observing = time.Minute

// Look asks the engine for its observations, in recorded form: what was observed, and why
// the rest was not. Sensitive values are removed.
func (st *Started) Look(ctx context.Context, v *variant.Variant) (map[string]ledger.Observed,
	map[string]verdict.Reason, error,
) {
	patterns, err := st.Lab.Variants.Patterns(v)
	if err != nil || len(patterns) == 0 {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, observing)
	defer cancel()
	st.settleLog(ctx)
	seen, not := map[string]ledger.Observed{}, map[string]verdict.Reason{}
	for _, o := range observe.All(ctx, st.Inst, variant.KindOf(v.Spec).Metrics.Path, patterns) {
		if o.Missing != "" {
			not[o.Name] = verdict.New(code.Unobserved, verdict.Text("why", st.Lab.Redact.Text(o.Missing)))
			continue
		}
		if text, ok := o.Value.(string); ok {
			o.Value = st.Lab.Redact.Text(text)
		}
		said := ledger.Observed{
			Value: o.Value, Unit: o.Unit, From: st.Lab.Redact.Text(o.From), Line: o.Line, At: o.At,
			To: o.To, Whole: o.Whole, Configured: st.Record.Configured(o.LineNo) && !o.Shows,
		}
		if hidden := st.Lab.Redact.Text(o.Line); hidden != o.Line {
			said.Line, said.At, said.To = hidden, 0, 0
		}
		seen[o.Name] = said
	}
	return seen, not, nil
}

// Observe completes the record with the engine's observations. It comes after the last
// request, so nothing timed waits for it, and before the stop.
func (st *Started) Observe(ctx context.Context, v *variant.Variant) {
	if ended := st.Inst.Exit() != nil && st.command.of == nil; ended || !st.Record.OK {
		return
	}
	seen, not, err := st.Look(ctx, v)
	if err != nil {
		st.Record.Notes = append(st.Record.Notes, verdict.New(code.NothingObserved, verdict.Line(err)))
		return
	}
	st.Record.Observed, st.Record.Unobserved = seen, not
	st.unused(v.Uses)
	for name, o := range sorted.All(seen) {
		number, ok := o.Value.(float64)
		if !ok {
			continue
		}
		// It is a metric of the launch, also under its catalogue name if it has one.
		m := measure.Metric{Name: name, Unit: o.Unit, Scope: measure.PerLaunch}
		if summary, ok := m.Summary([]float64{number}); ok {
			st.addMetric("engine.observed."+name, summary)
		}
		if m, ok := measure.Lookup(name); ok && m.Observed && m.Unit == o.Unit {
			st.perLaunch(name, number)
		}
	}
}

// unused invalidates a launch whose engine does not show that it used a setting: it would
// be measured without. If the engine may have used it without showing that, it adds a
// note.
func (st *Started) unused(uses []kinds.Use) {
	for _, u := range uses {
		o, seen := st.Record.Observed[u.Observed]
		number, _ := o.Value.(float64)
		if word, _ := o.Value.(string); number > 0 || word != "" && word != "none" {
			continue
		}
		if !seen && u.Hidden {
			why := verdict.Say("work.setting_unshown",
				"{subject} is set, but it is unknown whether the engine used it: {name} is not seen{causes? "+
					"({causes})}",
				verdict.Text("name", u.Observed)).From(st.Record.Unobserved[u.Observed])
			st.Record.Notes = append(st.Record.Notes, why.On(u.Setting).Map(st.Lab.Redact.Text))
			continue
		}
		why := verdict.New(code.SettingUnused, verdict.Text("name", u.Observed)).From(st.Record.Unobserved[u.Observed])
		if seen {
			why = verdict.New(code.SettingUnused, verdict.Text("name", u.Observed), verdict.Text("value", o.String()))
		}
		if not, seen := st.Record.Observed[u.Not]; seen {
			why = why.From(verdict.Say("work.setting_unused_since", "{from}: {value}",
				verdict.Text("from", not.From), verdict.Text("value", not.String())))
		}
		st.invalidate(why.On(u.Setting))
	}
}

// invalidate makes the launch not count.
func (st *Started) invalidate(why verdict.Reason) {
	st.Record.Invalid = append(st.Record.Invalid, why.Map(st.Lab.Redact.Text))
	st.Record.Disturbed = false
}

// diagnose adds to the error the engine's own message from its log or, without one, the
// meaning of the signal that ended it.
func (st *Started) diagnose() {
	if class, shown := st.Diagnosis(); class != "" {
		st.causedBy(class, shown)
	} else if st.Inst != nil {
		if exit := st.Inst.Exit(); exit != nil && (exit.Signal == "SIGILL" || exit.Signal == "SIGBUS") {
			st.causedBy("", verdict.Say("engine.signal",
				"{signal=SIGILL?it was built for another CPU, or a trap in one of its libraries stopped it: "+
					"build it on this machine}{signal=SIGBUS?memory that it had mapped is gone: /dev/shm or a disk "+
					"is full (shm_size of a container), or a file was cut while in use}",
				verdict.Text("signal", exit.Signal)))
		}
	}
}

// causedBy adds a cause to the error, and whose fault its class is.
func (st *Started) causedBy(class kinds.Class, why verdict.Reason) {
	st.Record.Error = st.Record.Error.From(append(st.Record.Error.Causes, why)...)
	if st.broke = class; class != "" {
		st.Record.Failure = ledger.Failure(class.Blame())
	}
}

// diagnosed is the cause of a broken engine, with the party to blame.
func diagnosed(class kinds.Class, means string, args ...verdict.Arg) verdict.Reason {
	args = append(args, verdict.Text("class", string(class)), verdict.Text("blame", string(class.Blame())),
		verdict.Text("means", means))
	return verdict.New(code.Diagnosed, args...)
}

// Diagnosis is what the log says about how the engine broke; no class if nothing.
func (st *Started) Diagnosis() (class kinds.Class, shown verdict.Reason) {
	log := st.log
	if st.Inst != nil {
		log = st.Inst.LogPath()
	}
	d, ok := st.Kind.Diagnose(log)
	if !ok {
		return "", shown
	}
	shown = diagnosed(d.Class, d.Means, verdict.Int("line_no", d.LineNo), verdict.Text("line", d.Line))
	return d.Class, shown.Map(st.Lab.Redact.Text)
}
