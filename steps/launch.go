package steps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// started is one engine that runs, with the record of its launch.
type started struct {
	inst   engine.Instance
	client *openai.Client
	record *ledger.Launch
	lab    *Lab
	began  time.Time
	// first is the answer to the first request, nil where there was none.
	first *measure.Sample
	// api is the endpoint that the engine answers at.
	api openai.API
	// kind and log are what is known of how the engine breaks, how its launcher.
	kind engine.Kind
	log  string
	how  string
	// command is set where the engine ends by itself.
	command commandUse
	// set names the prompts that are sent, see Lab.prompts.
	set string
	gpu gpuUse
	// describe collects the launch's metadata, once.
	describe func()
}

// launch starts a variant and waits until it is ready. When it does not, what
// was started is stopped, and the record says why.
func (l *Lab) launch(ctx context.Context, s *runtime.Scope, v *variant, record *ledger.Launch) (*started, error) {
	record.Variant, record.VariantKey, record.Node, record.BootID = v.name, v.key, s.Node.ID, l.Boot
	record.Engine = map[string]string{
		"kind": v.spec.Kind, "command": strings.Join(v.spec.Command, " "), "program": l.program(v.spec),
	}
	for k, value := range v.spec.Env {
		record.Engine["env."+k] = value
	}
	log := filepath.Join(l.RunDir, "launches", safeName(record.ID)+".log")
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, fmt.Errorf("no folder for engine logs: %w", err)
	}
	st := &started{record: record, lab: l, kind: specKind(v.spec), log: log, how: v.spec.How()}
	v, err := l.provide(ctx, s, v, record)
	if err == nil {
		st.gpu, err = l.gpuBefore(ctx, s, v)
	}
	st.began = time.Now()
	record.Started = st.began.UTC()
	if err != nil {
		st.broke(err)
		return st, err
	}
	st.command = v.command.use(v.spec.Dir)
	st.describe = sync.OnceFunc(func() { l.describe(ctx, s, v, st) })
	inst, err := l.Launcher.Launch(ctx, v.spec, engine.Launch{ID: record.ID, Owner: l.Owner, LogPath: log, OutPath: v.command.stdoutOf(log), Evidence: l.evidence(v)})
	if err != nil {
		st.broke(err)
		st.redactLog(log)
		st.describe()
		return st, err
	}
	st.inst = inst
	for key, value := range inst.About() {
		record.Engine[key] = value
	}
	st.client = clientOf(inst, st.kind, v.spec.Model)
	err = inst.Ready(ctx)
	if err == nil {
		err = st.firstRequest(ctx, v)
	}
	if err != nil {
		st.broke(err)
		st.stop(s)
		return st, err
	}
	if st.command.of == nil {
		// A command is measured while it runs.
		st.describe()
	}
	return st, nil
}

// clientOf is a client for a running engine, whose prompts no cache answers where
// the kind can be asked for that.
func clientOf(inst engine.Instance, kind engine.Kind, model string) *openai.Client {
	access := inst.Access()
	client := openai.New(access.BaseURL, model)
	client.Header, client.Extra = access.Header, kind.Ask.NoCache
	if t, ok := client.HTTP.Transport.(*http.Transport); ok {
		t.TLSClientConfig = access.TLS
	}
	return client
}

// safeName makes a file name of a launch's ID.
func safeName(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, id)
}

// broke writes into the record how the engine failed. An engine that died in
// the middle of an answer shows up as a broken connection, so its own end and
// last words say more than the client's error.
func (st *started) broke(err error) {
	defer st.diagnose()
	st.record.OK, st.record.Error = false, firstLine(err)
	var failure *engine.Failure
	if errors.As(err, &failure) {
		st.record.LogTail = failure.LogTail
		if failure.Exit != nil {
			st.record.Exit = &failure.Exit.Code
		}
		return
	}
	if st.inst == nil {
		return
	}
	st.record.LogTail = engine.TailLog(st.inst.LogPath(), 15)
	st.lookAlive()
	// A connection breaks a moment before the process is seen to have ended.
	select {
	case <-st.inst.Exited():
	case <-time.After(500 * time.Millisecond):
	}
	if exit := st.inst.Exit(); exit != nil {
		st.record.Exit = &exit.Code
		st.record.Error = fmt.Sprintf("the engine died (%s) while it answered: %s", exit, firstLine(err))
		st.record.LogTail = engine.TailLog(st.inst.LogPath(), 15)
	}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// stop ends the engine in order, keeps its log, and completes the record.
func (st *started) stop(s *runtime.Scope) {
	if st.inst == nil {
		return
	}
	st.client.Close()
	if exit := st.inst.Exit(); exit != nil && st.record.OK && st.command.of == nil {
		st.record.OK = false
		st.record.Exit = &exit.Code
		st.record.Error = fmt.Sprintf("the engine ended by itself (%s)", exit)
		st.record.LogTail = engine.TailLog(st.inst.LogPath(), 15)
		st.diagnose()
	}
	if st.describe != nil {
		st.describe()
	}
	if err := st.inst.Stop(s.Hard); err != nil && st.record.OK {
		st.record.Notes = append(st.record.Notes, "stopping: "+firstLine(err))
	}
	st.command.discard(st.inst.LogPath())
	st.record.Seconds = time.Since(st.began).Seconds()
	if st.command.of == nil {
		st.keepStartup()
	}
	if peak := st.inst.PeakMemory(); peak > 0 {
		st.perLaunch("memory_gb", float64(peak)/1e9)
	}
	crashes := 0.0
	if !st.record.OK && st.record.Exit != nil {
		crashes = 1
	}
	st.perLaunch("crashes", crashes)
	st.keepLog()
	st.record.Notes = append(st.record.Notes, st.lab.gpuAfter(s, st.gpu)...)
}

// keepLog stores the log of an engine that has stopped.
func (st *started) keepLog() {
	if st.inst.LogPath() == "" || !st.redactLog(st.inst.LogPath()) || st.lab.Store == nil {
		return
	}
	sum, err := st.lab.Store.PutFile(st.inst.LogPath())
	if err != nil {
		st.record.Notes = append(st.record.Notes, "the log could not be kept: "+firstLine(err))
	}
	st.record.Log = sum
}

// redactLog takes sensitive values out of a log. Where that fails the log goes:
// without a log there is less to see, with it there is too much.
func (st *started) redactLog(path string) bool {
	err := RedactFile(path, st.lab.Redact)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		st.record.Notes = append(st.record.Notes, "the log was removed, since sensitive values could not be taken out of it: "+firstLine(err))
		_ = os.Remove(path)
	}
	return err == nil
}

// perLaunch adds a metric that has one value a launch.
func (st *started) perLaunch(name string, value float64) {
	if summary, ok := measure.SummaryOf(name, []float64{value}); ok {
		if st.record.Metrics == nil {
			st.record.Metrics = map[string]measure.Summary{}
		}
		st.record.Metrics["engine."+name] = summary
	}
}

// keep appends the record of the launch to the ledger.
func (st *started) keep(s *runtime.Scope) error {
	return st.lab.Store.Append(&ledger.Record{
		Type: "launch", Time: time.Now().UTC(), Run: s.Run, Launch: st.record,
	})
}

// shortID is a name for what has none of its own.
func shortID(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:5])
}
