package embedded

import (
	"context"
	"io"
	"log"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func testConfig() Config {
	return Config{
		Layers: 4, Threads: 1, MaxModelLen: 512, MaxNumSeqs: 4, ServedModelName: "test", KVCache: true,
		KVFloat32: true, MoERouted: true, Sinks: true,
	}
}

// sharedModel has the default configuration; tests that only read it use it in turn.
var quiet = log.New(io.Discard, "", 0)

var sharedModel = sync.OnceValues(func() (*Model, error) { return newModel(testConfig(), quiet) })

func testModel(t testing.TB, change func(*Config)) *Model {
	t.Helper()
	if change == nil {
		m, err := sharedModel()
		must.Do(t, err)
		return m
	}
	c := testConfig()
	change(&c)
	m, err := newModel(c, quiet)
	must.Do(t, err)
	return m
}

// trace decodes greedily and returns the tokens and the logits of each step.
func trace(t testing.TB, m *Model, prompt []token, n int) (tokens []token, logits [][]float32) {
	t.Helper()
	return continueTrace(t, m, m.newSequence(prompt, n), n)
}

func continueTrace(t testing.TB, m *Model, seq *sequence, n int) (tokens []token, logits [][]float32) {
	t.Helper()
	prompt := len(seq.tokens)
	greedy := newSampler(sampling{TopP: 1}, 0)
	for range n {
		out, err := m.step(context.Background(), seq)
		must.Do(t, err)
		id, _ := greedy.choose(out, noToken)
		seq.tokens = append(seq.tokens, id)
		logits = append(logits, slices.Clone(out))
	}
	return seq.tokens[prompt:], logits
}

func furthest(a, b [][]float32) (distance float64) {
	for step := range a {
		for i := range a[step] {
			distance = max(distance, math.Abs(float64(a[step][i]-b[step][i])))
		}
	}
	return distance
}

// Every switch must preserve the text. Those that only reorganise the work must preserve
// the logits, too; the others must not.
func TestSwitchesKeepTheText(t *testing.T) {
	reference := testModel(t, nil)
	prompts := map[string][]token{
		"short":              reference.tk.encode("The capital of France is"),
		"longer than chunks": reference.tk.encode(corpusText)[:chunkTokens+10],
	}
	wantTokens, wantLogits := map[string][]token{}, map[string][][]float32{}
	for name, prompt := range prompts {
		wantTokens[name], wantLogits[name] = trace(t, reference, prompt, 8)
	}
	for _, test := range []struct {
		name     string
		change   func(*Config)
		steps    int
		equal    bool
		distance float64 // bound on the change of any logit
	}{
		{"all experts", func(c *Config) { c.MoERouted = false }, 8, true, 1e-4},
		{"no kv cache", func(c *Config) { c.KVCache = false }, 4, true, 1e-4},
		{"no kv cache, all experts", func(c *Config) { c.KVCache, c.MoERouted = false, false }, 3, true, 1e-4},
		{"two threads", func(c *Config) { c.Threads = 2 }, 6, true, 0},
		{"three threads, no kv cache", func(c *Config) { c.Threads, c.KVCache = 3, false }, 3, true, 1e-4},
		{"no sinks", func(c *Config) { c.Sinks = false }, 8, false, 2},
	} {
		m := testModel(t, test.change)
		for name, prompt := range prompts {
			tokens, logits := trace(t, m, prompt, test.steps)
			if want := wantTokens[name][:test.steps]; !slices.Equal(tokens, want) {
				t.Errorf("%s: %s: %q, want %q", test.name, name, m.tk.decode(tokens), m.tk.decode(want))
			}
			distance := furthest(logits, wantLogits[name])
			if distance > test.distance {
				t.Errorf("%s: %s: a logit moved by %v, at most %v expected", test.name, name, distance, test.distance)
			}
			if !test.equal && distance == 0 {
				t.Errorf("%s: %s: no logit moved: the switch did nothing", test.name, name)
			}
		}
	}
}

// Whatever the prompt, the model continues with the text after a few tokens.
func TestAnyPromptEndsInTheText(t *testing.T) {
	m := testModel(t, nil)
	prose, talks := readCorpus(corpusText)
	var known strings.Builder
	for _, stream := range corpusTokens(m.tk, prose, talks) {
		known.WriteString(m.tk.decode(stream) + "\n")
	}
	for _, prompt := range []string{
		"Xylophone zebra 42!", "の", "?", "    ", "{\"a\": [1,2]}", "qqq qqq qqq",
		"the the the", "\n",
	} {
		tokens, _ := trace(t, m, m.tk.encode(prompt), 24)
		for _, tail := range strings.Split(m.tk.decode(tokens[12:]), paragraphBreak) {
			if !strings.Contains(known.String(), tail) {
				t.Errorf("%q ends in %q, which is nowhere in the text", prompt, tail)
			}
		}
	}
}

// The layers carry the text: damage any part and it is gone.
func TestDamageShows(t *testing.T) {
	prompt := testModel(t, nil).tk.encode("\n\nA harbour wakes")
	want, _ := trace(t, testModel(t, nil), prompt, 30)
	for name, damage := range map[string]func(*weights){
		"one layer's experts": func(w *weights) {
			for e := range w.layers[1].experts {
				clear(w.layers[1].experts[e].down.codes)
			}
		},
		"attention": func(w *weights) { clear(w.layers[0].output.data) },
		"routers": func(w *weights) {
			for l := range w.layers {
				clear(w.layers[l].router.data)
			}
		},
		"a scale block": func(w *weights) { w.layers[0].experts[0].down.scales[nextSlot*2] = e8m0NaN },
	} {
		m := testModel(t, func(*Config) {}) // its own, to be damaged
		damage(m.weights)
		if got, _ := trace(t, m, prompt, 30); slices.Equal(got, want) {
			t.Errorf("without %s the text is the same", name)
		}
	}
}

func TestStepRefusesWhatDoesNotFit(t *testing.T) {
	m := testModel(t, nil)
	for name, prompt := range map[string][]token{"nothing": nil, "too much": make([]token, 513)} {
		if _, err := m.step(context.Background(), m.newSequence(prompt, 1)); err == nil {
			t.Errorf("a step on %s succeeded", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.step(ctx, m.newSequence([]token{1}, 1)); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

func TestConstructionDependsOnTheSeedAlone(t *testing.T) {
	a, b := testModel(t, nil), testModel(t, func(*Config) {})
	other := testModel(t, func(c *Config) { c.Seed = 7 })
	if !slices.Equal(a.weights.lmHead.data, b.weights.lmHead.data) {
		t.Error("one seed gave two models")
	}
	if slices.Equal(a.weights.lmHead.data, other.weights.lmHead.data) {
		t.Error("two seeds gave one model")
	}
}

// step returns the logits after the sequence's last token; they are valid until the next step.
func (m *Model) step(ctx context.Context, seq *sequence) ([]float32, error) {
	logits, err := m.steps(ctx, seq, 1)
	if err != nil {
		return nil, err
	}
	return logits.row(0), nil
}
