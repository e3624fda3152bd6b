package kinds_test

import (
	"net/http"
	"testing"

	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/ready"
)

// A server is taken for what it is, and one that shows nothing of itself for one
// that has the API and nothing else.
func TestRecognise(t *testing.T) {
	silent := map[string]bool{"trtllm": true}
	eachKind(t, func(t *testing.T, k kinds.Kind, r enginetest.Recording) {
		want := k.Name
		if silent[want] {
			want = "openai"
		}
		inst := start(t, enginetest.Replay(r.Kind, ""))
		if got := ready.Recognise(t.Context(), http.DefaultClient, inst.Access()).Name; got != want {
			t.Errorf("%s is taken for %q, want %q", k.Name, got, want)
		}
	})
}
