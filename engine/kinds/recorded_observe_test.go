package kinds_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/observe"
)

func TestRecordedServersAreObserved(t *testing.T) {
	eachKind(t, func(t *testing.T, k kinds.Kind, r enginetest.Recording) {
		inst := start(t, enginetest.Replay(r.Kind, ""))
		patterns := k.Patterns(nil)
		for name, theirs := range k.Metrics.Names {
			patterns = append(patterns, kinds.Pattern{Name: "metric." + name, Type: kinds.TypeNumber, Metric: theirs})
		}
		got, missing := map[string]string{}, map[string]string{}
		for _, o := range observe.All(t.Context(), inst, k.Metrics.Path, patterns) {
			if o.Missing != "" {
				missing[o.Name] = o.Missing
				continue
			}
			got[o.Name] = shown(o.Value)
		}
		for name, want := range r.Expect.Observed {
			if got[name] != want {
				t.Errorf("%s is %q, want %q %s", name, got[name], want, missing[name])
			}
		}
		// What the profile can see at all, the recording shows.
		for _, p := range patterns {
			if _, metric := strings.CutPrefix(p.Name, "metric."); metric && got[p.Name] == "" {
				t.Errorf("%s is not in the recorded page: %s", p.Name, missing[p.Name])
			} else if _, expected := r.Expect.Observed[p.Name]; !metric && !expected && got[p.Name] != "" {
				t.Errorf("%s is observed as %q, and the recording does not expect it", p.Name, got[p.Name])
			}
		}
		if d, broke := k.Diagnose(inst.LogPath()); broke {
			t.Errorf("a healthy log is taken for a crash: %v", d)
		}
	})
}

// shown prints numbers to three places, so that scaled ones can be written down.
func shown(v any) string {
	if f, ok := v.(float64); ok {
		text := strconv.FormatFloat(f, 'f', 3, 64)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return fmt.Sprint(v)
}
