package kinds_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/process"
)

func TestRecordedCrashesAreRecognised(t *testing.T) {
	eachKind(t, func(t *testing.T, k kinds.Kind, r enginetest.Recording) {
		if len(r.Crashes) == 0 {
			t.Error("the recording has no crash")
		}
		for _, name := range slices.Sorted(maps.Keys(r.Crashes)) {
			crash := r.Crashes[name]
			inst := launchOne(t, enginetest.Replay(r.Kind, name))
			err := inst.Ready(t.Context())
			if early := crash.While == "starting"; early != (err != nil) {
				t.Errorf("%s: Ready: %v", name, err)
			}
			if err == nil {
				client := openai.New(inst.BaseURL(), r.Model)
				s, err := client.Stream(t.Context(), openai.Request{API: openai.Chat, Prompt: "Hi", Timeouts: openai.Timeouts{Total: time.Minute}})
				if err == nil && s.Err == "" {
					t.Errorf("%s: it answered", name)
				}
			}
			<-inst.Exited()
			if exit := inst.Exit(); exit == nil || exit.Code != crash.Status {
				t.Errorf("%s: Exit is %v, want status %d", name, exit, crash.Status)
			}
			d, found := k.Diagnose(inst.LogPath())
			if !found || d.Class != crash.Class || !strings.Contains(d.Line, crash.Line) || d.Means == "" {
				t.Errorf("%s: it is diagnosed as %q (%v), want class %s and a line with %q", name, d, found, crash.Class, crash.Line)
			}
		}
	})
}

// The conformance test of launchers, with the recorded server of every kind.
func TestRecordedServersConform(t *testing.T) {
	eachKind(t, func(t *testing.T, _ kinds.Kind, r enginetest.Recording) {
		spec := func(*testing.T) engine.Spec { return enginetest.Replay(r.Kind, "") }
		var faults []enginetest.Fault
		for name, c := range r.Crashes {
			if c.While == "starting" {
				faults = append(faults, enginetest.Fault{
					Is: enginetest.DiesEarly, Status: c.Status, Says: c.Line,
					Spec: func(*testing.T) engine.Spec { return enginetest.Replay(r.Kind, name) },
				})
				break
			}
		}
		enginetest.Run(t, process.Launcher{}, spec, faults...)
	})
}
