package steps

import (
	"errors"
	"os"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
)

// broke writes into the record how the engine failed. An engine that died in
// the middle of an answer shows up as a broken connection, so its own end and
// last words say more than the client's error.
func (st *started) broke(err error) {
	defer st.diagnose()
	st.record.OK, st.record.Error = false, brokenBy(err)
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
	st.record.LogTail = logscan.Tail(st.inst.LogPath(), 15)
	st.lookAlive()
	// A connection breaks a moment before the process is seen to have ended.
	select {
	case <-st.inst.Exited():
	case <-time.After(500 * time.Millisecond):
	}
	if exit := st.inst.Exit(); exit != nil {
		st.record.Exit = &exit.Code
		st.record.Error = verdict.New(code.EngineDied, verdict.Text("exit", exit.String()), verdict.Line(err))
		st.record.LogTail = logscan.Tail(st.inst.LogPath(), 15)
	}
}

// brokenBy is how a launch broke: the fact that an error carries, or its own words.
func brokenBy(err error) verdict.Reason {
	if f := (*verdict.Fault)(nil); errors.As(err, &f) {
		return f.Reason
	}
	return verdict.New(code.LaunchBroke, verdict.Line(err))
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
		st.record.Error = verdict.New(code.EngineEnded, verdict.Text("exit", exit.String()))
		st.record.LogTail = logscan.Tail(st.inst.LogPath(), 15)
		st.diagnose()
	}
	if st.describe != nil {
		st.describe()
	}
	if err := st.inst.Stop(s.Hard); err != nil && st.record.OK {
		st.record.Notes = append(st.record.Notes, verdict.New(code.Stopping, verdict.Line(err)))
	}
	st.command.discard(st.inst.LogPath())
	st.record.Seconds = time.Since(st.began).Seconds()
	if st.command.of == nil {
		st.keepStartup()
	}
	if peak := st.inst.PeakMemory(); peak > 0 {
		st.perLaunch("memory_gb", float64(peak)/1e9)
	}
	crashes := st.crashed
	if st.record.Crashed() {
		crashes++
	}
	st.perLaunch("crashes", float64(crashes))
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
		st.record.Notes = append(st.record.Notes, verdict.New(code.NotKept, verdict.Line(err)).On("log"))
	}
	st.record.Log = sum
}

// redactLog takes sensitive values out of a log. Where that fails the log goes:
// without a log there is less to see, with it there is too much.
func (st *started) redactLog(path string) bool {
	err := redact.File(path, st.lab.Redact)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		st.record.Notes = append(st.record.Notes, verdict.New(code.LogRemoved, verdict.Line(err)))
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
