package kinds_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/process"
)

// ours are the kinds that need no recording: they run themselves, or are no
// server.
var ours = []string{"command", "embedded"}

func TestEveryKindHasARecording(t *testing.T) {
	var want []string
	for _, k := range kinds.All() {
		if !slices.Contains(ours, k.Name) {
			want = append(want, k.Name)
		}
	}
	if got := enginetest.Recordings(); !slices.Equal(got, want) {
		t.Errorf("there are recordings of %q, want %q", got, want)
	}
}

// eachKind runs a test on the recording of every kind.
func eachKind(t *testing.T, test func(t *testing.T, k kinds.Kind, r enginetest.Recording)) {
	for _, name := range enginetest.Recordings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := enginetest.ReadRecording(name)
			if err != nil {
				t.Fatal(err)
			}
			k, ok := kinds.Lookup(name)
			if !ok || r.Kind != name || r.Of == "" {
				t.Fatalf("the recording is of kind %q, %q", r.Kind, r.Of)
			}
			test(t, k, r)
		})
	}
}

// launchOne launches with marks of its own, since tests run side by side and
// stopping ends all that carries the marks.
func launchOne(t *testing.T, spec engine.Spec) engine.Instance {
	t.Helper()
	inst, err := process.Launcher{}.Launch(t.Context(), spec, engine.Launch{
		ID: "recorded-" + rand.Text(), Owner: "recorded-" + rand.Text(), LogPath: filepath.Join(t.TempDir(), "engine.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := inst.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return inst
}

// start launches a recorded server and waits until it is ready.
func start(t *testing.T, spec engine.Spec) engine.Instance {
	t.Helper()
	inst := launchOne(t, spec)
	if err := inst.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return inst
}

func TestRecordedServersBecomeReadyInTime(t *testing.T) {
	eachKind(t, func(t *testing.T, _ kinds.Kind, r enginetest.Recording) {
		inst := start(t, enginetest.Replay(r.Kind, ""))
		state, err := enginetest.ReplayStateOf(inst.BaseURL())
		if err != nil {
			t.Fatal(err)
		}
		if !state.Loaded {
			t.Error("it was called ready before its model was loaded")
		}
		if len(r.Expect.ReadyAfter) == 0 {
			t.Error("the recording does not say when it is ready")
		}
		for ask, times := range r.Expect.ReadyAfter {
			if state.Asked[ask] < times {
				t.Errorf("it was ready after %d of %s, want %d: asked were %v", state.Asked[ask], ask, times, state.Asked)
			}
		}
	})
}

func TestRecordedServersAnswer(t *testing.T) {
	eachKind(t, func(t *testing.T, k kinds.Kind, r enginetest.Recording) {
		inst := start(t, enginetest.Replay(r.Kind, ""))
		client := openai.New(inst.BaseURL(), r.Model)
		if k.AskModel {
			client.Model = ""
		}
		defer client.Close()
		if len(r.Expect.Texts) == 0 {
			t.Error("the recording expects no text")
		}
		for path, want := range r.Expect.Texts {
			api := openai.Completions
			if strings.Contains(path, "chat") {
				api = openai.Chat
			}
			s, err := client.Stream(t.Context(), openai.Request{API: api, Prompt: "The capital of France is", MaxTokens: 3, IgnoreEOS: k.Ask.IgnoreEOS, ContinuousUsage: true, Timeouts: openai.Timeouts{Total: time.Minute}})
			if err != nil || s.Err != "" {
				t.Errorf("%s: %v %s", path, err, s.Err)
				continue
			}
			got := fmt.Sprintf("%q prompt %d output %d cached %d", s.Text, s.PromptTokens, s.OutputTokens, s.CachedTokens)
			if exp := fmt.Sprintf("%q prompt %d output %d cached %d", want, r.Expect.Prompt, r.Expect.Output, r.Expect.Cached); got != exp {
				t.Errorf("%s: got %s, want %s", path, got, exp)
			}
			if usage := s.TokenSource != "events"; usage != k.Ask.Usage {
				t.Errorf("%s: tokens were counted by %s, and the profile says usage %v", path, s.TokenSource, k.Ask.Usage)
			}
		}
		if got := countTokens(t, k, inst.BaseURL()); got != r.Expect.Tokens {
			t.Errorf("it counted %d tokens, want %d", got, r.Expect.Tokens)
		}
		if k.Ask.CacheReset != "" {
			resp, err := http.Post(inst.BaseURL()+k.Ask.CacheReset, "application/json", nil)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("POST %s: %v, %v", k.Ask.CacheReset, resp, err)
			}
		}
	})
}

// countTokens asks as the profile says; 0 where it has no way.
func countTokens(t *testing.T, k kinds.Kind, baseURL string) int {
	t.Helper()
	if k.Tokenize.Path == "" {
		return 0
	}
	body, _ := json.Marshal(map[string]string{k.Tokenize.Field: "The capital of France is"})
	resp, err := http.Post(baseURL+k.Tokenize.Path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	var answer any
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	n, err := observe.RunJQ(t.Context(), k.Tokenize.Count, answer)
	if err != nil {
		t.Fatal(err)
	}
	switch n := n.(type) {
	case int:
		return n
	case float64:
		return int(n)
	}
	t.Fatalf("%v is no count", n)
	return 0
}
