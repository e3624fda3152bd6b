package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// spelled is an answer in short: text#id:logprob[alternatives].
func spelled(tokens []answers.Token) string {
	var all []string
	for _, t := range tokens {
		var top []string
		for _, a := range t.Top {
			n, _ := a.LogProb.Number()
			top = append(top, fmt.Sprintf("%s#%d:%.2f", a.Text, a.ID, n))
		}
		n, _ := t.LogProb.Number()
		all = append(all, fmt.Sprintf("%q#%d:%.2f%v", t.Text, t.ID, n, top))
	}
	return strings.Join(all, " ")
}

// What engines sent, as recorded from the llama-server of llama-cpp-python 0.3.36 and vLLM 0.32.
func TestRecordedAnswers(t *testing.T) {
	ask := Request{Prompt: "The capital of France is", MaxTokens: 3, LogProbs: 3}
	both, chat := ask, ask
	both.PromptLogProbs, chat.PromptLogProbs = true, true
	chat.API, chat.LogProbs = Chat, 2
	plain := chat
	plain.PromptLogProbs = false
	for _, test := range []struct {
		file                      string
		request                   Request
		how                       LogProbs
		text                      string
		prompt, answers           string // how they begin
		prompts, tokens, unlisted int
	}{
		{
			"llamacpp-completions", ask,
			LogProbs{},
			" Paris.\n", "",
			`" Paris"#7042:-0.28[ Paris#7042:-0.28  the#260:-2.70  London#4528:-4.27] "."#30:-0.39`, 0, 3, 0,
		},
		// Three tokens are one character: two of them have no position.
		{
			"llamacpp-chat", plain,
			LogProbs{},
			"お", "", `"お"#228:-1.58[bytes:\x8a#228:-1.58 bytes:\x9f#249:-2.13]`, 0, 1,
			2,
		},
		{
			"vllm-completions", both,
			LogProbs{AskIDs: true, Prompt: "prompt_logprobs"},
			" Paris.\n",
			`""#504:NaN[] " capital"#3575:-11.54[ capital#3575:-11.54 -#29:-0.87`,
			`""#7042:-0.26[#7042:-0.26 #260:-2.74 #4528:-4.39]`, 5, 3, 0,
		},
		{
			"vllm-completions-texts", ask,
			LogProbs{},
			" Paris.\n", "", `" Paris"#-1:-0.26[ Paris#-1:-0.26  the#-1:-2.74`,
			0, 3, 0,
		},
		{
			"vllm-completions-echo", both,
			LogProbs{Prompt: "echo"},
			" Paris.\n",
			`"The"#-1:NaN[] " capital"#-1:-11.54[ capital#-1:-11.54 -#-1:-0.87`, `" Paris"#-1:-0.26[`, 5, 3, 0,
		},
		{
			"vllm-chat", chat,
			LogProbs{AskIDs: true, Prompt: "prompt_logprobs"},
			"お",
			`""#1:NaN[] "system"#9690:-7.78[system#9690:-7.78 -#29:-0.99]`,
			`""#7365:-2.17[#7365:-2.17 #23274:-2.55] ""#228:-1.60`, 35, 3, 0,
		},
	} {
		t.Run(test.file, func(t *testing.T) {
			said, err := os.ReadFile(filepath.Join("testdata", "logprobs", test.file+".json"))
			must.Do(t, err)
			answer, err := readAnswer(said, test.request, test.how)
			must.Do(t, err)
			if prompt := spelled(answer.Prompt); !strings.HasPrefix(prompt, test.prompt) ||
				len(answer.Prompt) != test.prompts {
				t.Errorf("prompt: %d tokens, %s", len(answer.Prompt), prompt)
			}
			if tokens := spelled(answer.Tokens); !strings.HasPrefix(tokens, test.answers) ||
				len(answer.Tokens) != test.tokens {
				t.Errorf("answer: %d tokens, %s", len(answer.Tokens), tokens)
			}
			if answer.Text != test.text || answer.End != "length" || answer.Unlisted != test.unlisted {
				t.Errorf("%q ended by %q, %d unlisted", answer.Text, answer.End, answer.Unlisted)
			}
			c, err := answers.Compare([]answers.Answer{answer}, []answers.Answer{answer}, 0)
			if err != nil || c.Complete() != nil || c.Got.Flaws.Any() {
				t.Errorf("beside itself: %v, %v, %+v", err, c.Complete(), c.Got.Flaws)
			}
		})
	}
}

func TestAnswerRequest(t *testing.T) {
	reply, err := os.ReadFile("testdata/logprobs/vllm-completions.json")
	must.Do(t, err)
	var body map[string]any
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = nil
		if err := json.Unmarshal(text, &body); err != nil {
			t.Error(err)
		}
		_, _ = w.Write(reply)
	})
	c.Model = "m"
	c.LogProbs = LogProbs{AskIDs: true, Prompt: "prompt_logprobs"}
	ask := Request{Prompt: "a", MaxTokens: 3, LogProbs: 3, PromptLogProbs: true}
	first, err := c.Answer(t.Context(), ask)
	must.Do(t, err)
	if body["logprobs"] != 3. || body["prompt_logprobs"] != 3. || body["return_token_ids"] != true ||
		body["stream"] != false || body["top_logprobs"] != nil {
		t.Errorf("asked %v", body)
	}
	c.Model = "another name"
	ask.LogProbs = 4
	if again, err := c.Answer(t.Context(), ask); err != nil || again.Asked != first.Asked || first.Asked == "" {
		t.Errorf("the same prompt is %q and %q (%v)", first.Asked, again.Asked, err)
	}
	names := map[string]bool{first.Asked: true}
	for _, change := range []func(*Request){
		func(r *Request) { r.Prompt = "b" }, func(r *Request) { r.MaxTokens = 4 },
		func(r *Request) { r.Tokens = []int{1} },
		func(r *Request) { r.API = Chat }, func(r *Request) { r.Extra = map[string]any{"x": 1} },
		func(r *Request) { r.Stop = []string{"."} },
	} {
		other := ask
		change(&other)
		answer, err := c.Answer(t.Context(), other)
		if err != nil || names[answer.Asked] {
			t.Errorf("%v has the name of another request (%v)", body, err)
		}
		names[answer.Asked] = true
	}
	c.LogProbs.Prompt = "echo"
	if _, err := c.Answer(t.Context(), ask); err == nil || body["echo"] != true { // the reply is not an echo
		t.Errorf("asked %v: %v", body, err)
	}
	ask.API = Chat
	if _, err := c.Answer(t.Context(), ask); !errors.Is(err, errNoLogProbs) {
		t.Errorf("a chat with prompt log-probabilities by echo: %v", err)
	}
	if _, err := c.Stream(t.Context(), ask); err == nil || body["logprobs"] != nil || body["stream"] != true {
		t.Errorf("a stream asked %v (%v)", slices.Sorted(maps.Keys(body)), err)
	}
}

func TestAnswerRefused(t *testing.T) {
	for name, test := range map[string]struct {
		said string
		kind error
	}{
		"no JSON": {`<html>`, errUnreadable},
		"NaN is no JSON": {
			`{"choices":[{"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[NaN]}}]}`,
			errUnreadable,
		},
		"no choice": {`{"choices":[]}`, errUnreadable},
		"an error":  {`{"error":{"message":"full"}}`, errUnreadable},
		"another form": {
			`{"choices":[{"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1],"top_logprobs":[[1]]}}]}`,
			errUnreadable,
		},
		"a word for a number": {
			`{"choices":[{"text":"a","logprobs":{"content":[{"token":"a","logprob":"low"}]}}]}`, errUnreadable,
		},
		"none":           {`{"choices":[{"text":"a","logprobs":null}]}`, errNoLogProbs},
		"none of a text": {`{"choices":[{"text":"a","logprobs":{"content":[]}}]}`, errNoLogProbs},
		"fewer values than tokens": {
			`{"choices":[{"text":"a","logprobs":{"tokens":["a","b"],"token_logprobs":[-1]}}]}`, errUneven,
		},
		"fewer lists than tokens": {
			`{"choices":[{"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1],"top_logprobs":[]}}]}`,
			errUneven,
		},
		"more positions than tokens": {
			`{"choices":[{"text":"a","logprobs":{"content":[{"token":"a"},{"token":"b"}]}}],"usage":{"completion_tokens":1}}`, errUneven,
		},
		"more than asked for": {
			`{"choices":[{"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1],"top_logprobs":[{"a":-1,"b":-2,"c":-3,"d":-4}]}}]}`, errTooMany,
		},
	} {
		_, err := readAnswer([]byte(test.said), Request{LogProbs: 2}, LogProbs{})
		if !errors.Is(err, test.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	const answer = `"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1]}`
	for name, test := range map[string]struct {
		said, how string
		kind      error
	}{
		"none": {`{"choices":[{` + answer + `}]}`, "prompt_logprobs", errNoLogProbs},
		"another number of tokens": {
			`{"choices":[{` + answer + `,"prompt_logprobs":[null],"prompt_token_ids":[1,2]}]}`,
			"prompt_logprobs", errUneven,
		},
		"a text for an id": {
			`{"choices":[{` + answer + `,"prompt_logprobs":[{"a":{"logprob":-1}}]}]}`,
			"prompt_logprobs", errUnreadable,
		},
		"more than asked for": {
			`{"choices":[{` + answer + `,"prompt_logprobs":[{"1":{},"2":{},"3":{},"4":{}}]}]}`,
			"prompt_logprobs", errTooMany,
		},
		"no echo": {
			`{"choices":[{` + answer + `}],"usage":{"prompt_tokens":2}}`,
			"echo", errNoLogProbs,
		},
		"nobody counts the echo": {`{"choices":[{` + answer + `}]}`, "echo", errNoLogProbs},
	} {
		_, err := readAnswer([]byte(test.said), Request{LogProbs: 2, PromptLogProbs: true}, LogProbs{Prompt: test.how})
		if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), "prompt") && test.kind != errTooMany {
			t.Errorf("prompt, %s: %v", name, err)
		}
	}
}

// What engines write instead of a number is kept as it is.
func TestOddValues(t *testing.T) {
	answer, err := readAnswer(
		[]byte(
			`{"choices":[{"logprobs":{"tokens":["a","b","c","d"],"token_logprobs":["NaN",null,-9999.0,-3.4028234663852886e+38],
		"top_logprobs":[null,{},{"c":-1},{"x":null}]}}]}`), Request{LogProbs: 2}, LogProbs{})
	must.Do(t, err)
	for i, want := range []answers.Value{
		answers.Of(math.NaN()),
		{},
		answers.Of(math.Inf(-1)),
		answers.Of(math.Inf(-1)),
	} {
		if got := answer.Tokens[i].LogProb; got.String() != want.String() {
			t.Errorf("value %d is %v, want %v", i, got, want)
		}
	}
	if _, given := answer.Tokens[3].Top[0].LogProb.Number(); given {
		t.Errorf("null became %v", answer.Tokens[3].Top[0].LogProb)
	}
}

// Any input is an answer that can be compared and stored, or an error.
func FuzzAnswer(f *testing.F) {
	files, err := filepath.Glob("testdata/logprobs/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must.Do(f, err)
		f.Add(text, true, "prompt_logprobs")
		f.Add(text, strings.Contains(file, "echo"), "echo")
	}
	f.Fuzz(func(t *testing.T, said []byte, prompt bool, how string) {
		answer, err := readAnswer(said, Request{Prompt: "The", LogProbs: 3, PromptLogProbs: prompt},
			LogProbs{Prompt: how})
		if err != nil {
			return
		}
		text, err := json.Marshal(answer)
		must.Do(t, err)
		var again answers.Answer
		must.Do(t, json.Unmarshal(text, &again))
		if _, err := answers.Compare([]answers.Answer{answer}, []answers.Answer{again}, 0); err != nil {
			t.Fatalf("%s is not comparable to itself: %v", text, err)
		}
	})
}
