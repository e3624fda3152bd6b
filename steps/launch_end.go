package steps

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime"
)

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
	st.record.LogTail = logscan.Tail(st.inst.LogPath(), 15)
	st.lookAlive()
	// A connection breaks a moment before the process is seen to have ended.
	select {
	case <-st.inst.Exited():
	case <-time.After(500 * time.Millisecond):
	}
	if exit := st.inst.Exit(); exit != nil {
		st.record.Exit = &exit.Code
		st.record.Error = fmt.Sprintf("the engine died (%s) while it answered: %s", exit, firstLine(err))
		st.record.LogTail = logscan.Tail(st.inst.LogPath(), 15)
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
		st.record.LogTail = logscan.Tail(st.inst.LogPath(), 15)
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
	crashes := st.crashed
	if crashed(st.record) {
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
