package agreement

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

// scorer is a server of a model whose next word follows from the text. It counts how it is
// asked, and if it flatters, it scores whatever it is shown as its own.
type scorer struct {
	flatters             bool
	scored, asked, short atomic.Int32
}

func nextWord(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return fmt.Sprintf(" w%d", h.Sum32()%1000)
}

func (s *scorer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Prompt string
		Limit  int  `json:"max_tokens"`
		Score  *int `json:"prompt_logprobs"`
	}
	if r.URL.Path == "/v1/models" {
		fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if q.Score != nil {
		s.scored.Add(1)
		var scores []any
		said := ""
		for _, token := range strings.SplitAfter(strings.ReplaceAll(q.Prompt, " ", "\x00 "), "\x00") {
			token = strings.TrimSuffix(token, "\x00")
			all := map[string]any{"0": map[string]any{"logprob": -0.1, "decoded_token": token}}
			if own := nextWord(said); own != token && !s.flatters {
				all["0"] = map[string]any{"logprob": -9.0, "decoded_token": token}
				all["1"] = map[string]any{"logprob": -0.1, "decoded_token": own}
			}
			scores, said = append(scores, all), said+token
		}
		word := nextWord(q.Prompt)
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"text": word, "finish_reason": "length", "prompt_logprobs": scores,
			"logprobs": map[string]any{
				"tokens": []string{word}, "token_logprobs": []float64{-0.1},
				"top_logprobs": []any{map[string]float64{word: -0.1}},
			},
		}}})
		return
	}
	s.asked.Add(1)
	if q.Limit < 16 {
		s.short.Add(1)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for range q.Limit {
		word := nextWord(q.Prompt)
		q.Prompt += word
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"text\":%q}]}\n\n", word)
		if w.(http.Flusher).Flush(); r.Context().Err() != nil {
			return
		}
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n")
}

// A parent's scores decide only as far as it says the same when it is asked, as the benchmark asks.
func TestScoresAreChecked(t *testing.T) {
	for _, c := range []struct {
		name             string
		flatters, honest bool
	}{
		{"an honest port", false, true},
		{"another model", false, false},
		{"another model, flattered", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scorer{flatters: c.flatters}
			server := httptest.NewServer(s)
			defer server.Close()
			kind, _ := kinds.Lookup("vllm")
			client := openai.New(server.URL, "m")
			client.LogProbs = openai.LogProbs{Prompt: kind.Ask.LogProbs.Prompt}
			plan := &plans.Plan{Workloads: []*plans.Workload{{
				Name: "chat", IgnoreEOS: true, OutputTokens: []int{24}, Concurrency: []int{1},
				PromptTokens: []int{8}, FirstTimeout: time.Minute,
			}}}
			st := &launch.Started{
				Client: client, Kind: kind, Record: &ledger.Launch{ID: "asked"},
				Lab: &launch.Lab{Variants: &variant.Resolver{Plan: plan}, Redact: redact.New(nil)},
			}
			q := Question{
				Own: []string{"own"}, Others: map[string][]string{"port": {"other"}}, Cells: []string{"chat"},
			}
			for arm, id := range []string{"own", "other"} {
				for request := range 16 {
					text := fmt.Sprintf("prompt %d of %d", request, arm)
					a := Answer{
						Launch: id, Cell: "chat", Request: request, Prompt: prompt.Prompt{Text: text},
						PromptTokens: 8, OutputTokens: 24, Limit: 24,
					}
					for range 24 {
						a.Starts = append(a.Starts, len(a.Text))
						if word := nextWord(text + a.Text); c.honest || arm == 0 {
							a.Text += word
						} else {
							a.Text += " not" + word[1:]
						}
					}
					q.Answers = append(q.Answers, a)
				}
			}
			asked, err := q.Ask(t.Context(), st, "seed")
			must.Do(t, err)
			own := 0
			for _, l := range asked.Looks {
				if l.Launch == "own" {
					own++
				}
			}
			if own > len(asked.Looks)/2 {
				t.Errorf("%d of %d positions are the parent's own", own, len(asked.Looks))
			}
			got := Claim{Own: q.Own, Other: q.Others["port"]}.Judge(asked)
			if got.Holds() != c.honest || got.Refuted() == c.honest {
				t.Errorf("shown %v, refuted %v: %+v", got.Holds(), got.Refuted(), got.Worst())
			}
			times, short := int(s.asked.Load()), s.short.Load()
			if s.scored.Load() == 0 || short > 0 || c.honest && times > len(asked.Looks) {
				t.Errorf("%d positions: asked %d times, of which %d for few tokens", len(asked.Looks), times, short)
			}
			if len(asked.Decoys) != decoys || got.LookedUp() {
				t.Errorf("%d decoys, %+v", len(asked.Decoys), got.Decoys)
			}
		})
	}
}

// White space goes before the words of a candidate that drops it from every answer, and nowhere else.
func TestSpellAs(t *testing.T) {
	own := []Answer{{Text: ", so it is"}, {Text: " The caf\u00e9"}}
	for _, c := range []struct {
		name, text, also, lead, is string
		starts, now                []int
	}{
		{"dropped", "The cafe\u0301", "A dog", " ", "The caf\u00e9", []int{0, 3}, []int{0, 3}},
		{"before a mark", ", so", "A dog", "", ", so", []int{0, 1}, []int{0, 1}},
		{"kept elsewhere", "The cafe\u0301", " A dog", "", "The caf\u00e9", []int{0, 3}, []int{0, 3}},
		{"a syllable in two", "\uac00\u11a8", " A dog", "", "\uac01", []int{0, 3}, []int{0}},
		{"a character in two events", "cafe\u0301 x", " A dog", "", "caf\u00e9 x", []int{0, 4, 6}, []int{0, 5}},
	} {
		a := &Answer{Text: c.text, Starts: c.starts}
		spellAs(own, []*Answer{a, {Text: c.also}})
		if a.lead != c.lead || a.Text != c.is || !slices.Equal(a.Starts, c.now) {
			t.Errorf("%s: lead %q, %q, starts %v", c.name, a.lead, a.Text, a.Starts)
		}
	}
}
