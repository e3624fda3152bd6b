package embedded

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// asker sends what a comparison sends to engines.
func asker(t testing.TB, change func(*Config)) *openai.Client {
	t.Helper()
	url, _ := testServer(t, change)
	c := openai.New(url, "")
	c.LogProbs = openai.LogProbs{AskIDs: true, Prompt: "prompt_logprobs"}
	return c
}

func ask(t testing.TB, c *openai.Client, r openai.Request) answers.Answer {
	t.Helper()
	a, err := c.Answer(t.Context(), r)
	must.Do(t, err)
	return a
}

// logProbTokens is how many tokens each answer has.
const logProbTokens = 14

// prompts, the longest of which takes two chunks.
var prompts = []string{
	"The capital of France is", "What is the capital of Italy?", "Q: why",
	strings.Repeat("The sea is wide and the night is long. ", 15),
}

func asked(t testing.TB, c *openai.Client, tokens int) (all []answers.Answer) {
	t.Helper()
	for _, prompt := range prompts {
		all = append(all,
			ask(t, c,
				openai.Request{Prompt: prompt, MaxTokens: tokens, IgnoreEOS: true, LogProbs: 20, PromptLogProbs: true}))
	}
	return all
}

// sound are the answers of an engine without a mistake.
var sound []answers.Answer

func soundAnswers(t *testing.T) []answers.Answer {
	if sound == nil {
		sound = asked(t, asker(t, nil), logProbTokens)
	}
	return sound
}

// However a request asks for them and whatever else the engine does, the values are the same.
func TestLogProbs(t *testing.T) {
	plain := soundAnswers(t)
	for name, change := range map[string]func(*Config){
		"again": nil, "speculation": func(c *Config) { c.Speculation = 4 },
		"threads":  func(c *Config) { c.Threads = 4 },
		"no cache": func(c *Config) { c.KVCache = false }, "prefixes": func(c *Config) { c.PrefixCache = true },
		"all experts": func(c *Config) { c.MoERouted = false },
	} {
		c, err := answers.Compare(plain, asked(t, asker(t, change), logProbTokens), 0)
		if err != nil || c.Complete() != nil || c.Prefill.Compared <= len(prompts) {
			t.Fatalf("%s: %v, %v", name, err, c.Complete())
		}
		for i, p := range c.Pairs {
			if p.Divergence != nil {
				t.Errorf("%s: answer %d diverges at %d", name, i, p.Divergence.At)
			}
		}
		for _, part := range []answers.Part{c.Prefill, c.Decode} {
			if part.Mean > 1e-9 || part.Argmax != part.Compared || part.Compared == 0 {
				t.Errorf("%s: %+v", name, part)
			}
		}
		if c.Reference.Flaws.Any() || c.Reference.Perplexity != c.Got.Perplexity {
			t.Errorf("%s: %+v beside %+v", name, c.Reference, c.Got)
		}
	}

	client := asker(t, nil)
	token := ask(t, client, openai.Request{Prompt: prompts[0], MaxTokens: 4, LogProbs: 3}).Tokens[0]
	if len(token.Top) != 3 || token.ID != token.Top[0].ID || token.LogProb != token.Top[0].LogProb {
		t.Errorf("the first token is %+v", token)
	}
	client.LogProbs.AskIDs = false
	texts := ask(t, client, openai.Request{Prompt: prompts[0], MaxTokens: 4, LogProbs: 3, PromptLogProbs: true})
	if texts.Tokens[0].Text != " Paris" || texts.Tokens[0].LogProb != token.LogProb ||
		texts.Prompt[1].Text != " capital" {
		t.Errorf("by texts: %+v", texts.Tokens[0])
	}
	chat := ask(t, client, openai.Request{
		API: openai.Chat, Prompt: "What is the capital of France?", MaxTokens: 4,
		LogProbs: 3, PromptLogProbs: true,
	})
	if chat.Tokens[0].Text != "Paris" || len(chat.Tokens[0].Top) != 3 || len(chat.Prompt) < 5 {
		t.Errorf("a chat: %+v", chat.Tokens[0])
	}
	whole := ask(t, client, openai.Request{Prompt: prompts[0], MaxTokens: 4, LogProbs: 20})
	var sum float64
	for _, a := range whole.Tokens[0].Top {
		v, _ := a.LogProb.Finite()
		sum += math.Exp(v)
	}
	if !(sum > 0.5 && sum <= 1+1e-6) {
		t.Errorf("20 tokens have the probability %v", sum)
	}
}

// A penalty changes which token is chosen, but not the listed log-probabilities.
func TestLogProbsAreBeforePenalties(t *testing.T) {
	c := asker(t, nil)
	plain := ask(t, c, openai.Request{Prompt: prompts[0], MaxTokens: 1, LogProbs: 5})
	bent := ask(t, c, openai.Request{Prompt: prompts[0], MaxTokens: 1, LogProbs: 5, RepetitionPenalty: 1.9})
	if plain.Tokens[0].Top[0] != bent.Tokens[0].Top[0] {
		t.Errorf("%+v became %+v", plain.Tokens[0].Top, bent.Tokens[0].Top)
	}
}

func TestStreamedLogProbs(t *testing.T) {
	url, _ := testServer(t, func(c *Config) { c.Speculation = 4 })
	for path, body := range map[string]string{
		"/v1/completions":      `{"prompt":"The capital of France is","max_tokens":6,"temperature":0,"stream":true,"logprobs":2}`,
		"/v1/chat/completions": whatCapital + `,"max_tokens":6,"stream":true,"logprobs":true,"top_logprobs":2}`,
	} {
		status, answer := post(t, url+path, body)
		if n := strings.Count(answer, `"token":`) / 3; status != http.StatusOK ||
			path == "/v1/chat/completions" && n < 4 {
			t.Errorf("%s: %d tokens in %s", path, n, answer)
		}
		if n := strings.Count(answer, `"token_logprobs":[`); path == "/v1/completions" && n < 3 {
			t.Errorf("%s: %d lists in %s", path, n, answer)
		}
	}
}

// NaN logits have no log-probability, and are never taken for one.
func TestNaNLogProbs(t *testing.T) {
	c := asker(t, func(c *Config) { c.Faults = Faults{"nan": 1} })
	c2, err := answers.Compare(soundAnswers(t), asked(t, c, logProbTokens), 0)
	if missing, ok := errors.AsType[*answers.MissingError](c2.Complete()); err != nil || !ok ||
		missing.Engine != "got" {
		t.Errorf("%v, %v", err, c2.Complete())
	}
}

// Each mistake is distinguished from the sound engine, whose distance from itself is 0,
// and an honest 8-bit format is closer than any of them.
func TestMistakesAreToldApart(t *testing.T) {
	for name, test := range map[string]struct {
		change          func(*Config)
		prefill, decode [2]float64 // bounds of the mean divergence
		ties, real      bool       // how answers may diverge
	}{
		"honest int8": {func(c *Config) {
			c.KVFloat32 = false
		}, [2]float64{1e-9, 1e-5}, [2]float64{1e-9, 1e-5}, false, false},
		"half_accumulator": {func(c *Config) {
			c.Faults = Faults{"half_accumulator": 1}
		}, [2]float64{2e-5, 1e-2}, [2]float64{2e-5, 1e-2}, true, false},
		"wrong_expert": {func(c *Config) {
			c.Faults = Faults{"wrong_expert": 1}
		}, [2]float64{0.1, 20}, [2]float64{0.1, 20}, false, true},
		// A prompt that fits into one chunk is right.
		"stale_kv": {func(c *Config) {
			c.Faults = Faults{"stale_kv": 1}
		}, [2]float64{0, 0.1}, [2]float64{0.1, 20}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := answers.Compare(soundAnswers(t), asked(t, asker(t, test.change), logProbTokens), 0.1)
			if err != nil || c.Complete() != nil {
				t.Fatal(err, c.Complete())
			}
			for part, within := range map[*answers.Part][2]float64{&c.Prefill: test.prefill, &c.Decode: test.decode} {
				if mean := part.Mean; !(mean >= within[0] && mean <= within[1]) {
					t.Errorf("%+v: the mean divergence is not within %v", part, within)
				}
			}
			ties, real := 0, 0
			for _, p := range c.Pairs {
				switch {
				case p.Divergence == nil:
				case p.Divergence.Tie:
					ties++
				default:
					real++
				}
			}
			if ties > 0 && !test.ties || (real > 0) != test.real {
				t.Errorf("%d answers diverge at ties and %d really", ties, real)
			}
		})
	}
}

// An engine that is right for as many requests as one check sends is wrong in the next check.
func TestWrongAfter(t *testing.T) {
	c := asker(t, func(c *Config) { c.Faults = Faults{"wrong_after": len(prompts)} })
	for round, wrong := range []bool{false, true} {
		c, err := answers.Compare(soundAnswers(t), asked(t, c, logProbTokens), 0)
		must.Do(t, err)
		if mean := c.Prefill.Mean; (mean > 0.1) != wrong || !wrong && mean != 0 {
			t.Errorf("round %d: %+v", round, c.Prefill)
		}
	}
}

func TestLeak(t *testing.T) {
	s := newServer(testConfig(), io.Discard)
	s.config.Faults = Faults{"leak": 64}
	must.Do(t, s.load(func(int) {}))
	web := httptest.NewServer(s.handler())
	defer web.Close()
	for range 3 {
		post(t, web.URL+"/v1/completions", paris)
	}
	if lost := s.engine.Load().leaked; len(lost) != 3 || len(lost[0]) != 64<<10 {
		t.Errorf("%d blocks are lost", len(lost))
	}
}

// Mistakes log nothing, like real ones; an honest format does.
func TestMistakesAreSilent(t *testing.T) {
	log := func(change func(*Config)) string {
		url, log := testServer(t, change)
		post(t, url+"/v1/completions", paris)
		_, rest, _ := strings.Cut(log.String(), "KV cache size")
		return rest
	}
	sound := log(nil)
	for _, fault := range []string{"wrong_expert", "stale_kv", "half_accumulator", "wrong_after:1", "leak:1"} {
		if said := log(func(c *Config) {
			if err := c.readFaults(fault); err != nil || len(c.Faults) == 0 {
				t.Error(fault, err)
			}
		}); said != sound {
			t.Errorf("%s says\n%s where the sound engine says\n%s", fault, said, sound)
		}
	}
	if said := log(func(c *Config) {
		c.KVFloat32 = false
	}); !strings.Contains(said, "kv_format: using kernel "+kernelKVInt8) {
		t.Errorf("int8 says\n%s", said)
	}
}
