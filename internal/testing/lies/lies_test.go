package lies

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// prosePrompts are some that differ in a word.
func prosePrompts() (texts []string) {
	prose := prompt.Prose()
	for i := range 200 {
		texts = append(texts, "a08f7fac2670"+string(rune('a'+i%26))+". "+prose[i%len(prose)]+" "+
			prose[(7*i+1)%len(prose)]+" did little")
	}
	return texts
}

// An answer is continued from any token as it went on, whatever separates its words, also
// where a space ends the prompt.
func TestAnswersAreContinued(t *testing.T) {
	s := &imitation{lang: english()}
	for _, opening := range []string{"", openings[1]} {
		s.opening = opening
		for i, text := range prosePrompts()[:40] {
			if i%2 > 0 {
				text += " the train "
			}
			whole := s.pieces(text, &request{MaxTokens: new(32)})
			for i := range whole {
				said := strings.Join(whole[:i], "")
				if got := s.pieces(text+said, &request{MaxTokens: new(32 - i)}); !slices.Equal(got,
					whole[i:]) {
					t.Fatalf("%q\ncontinued after %q: %q\nwant %q", text, said, got, whole[i:])
				}
				if opening != "" {
					continue
				}
				if got := s.pieces(text+strings.ReplaceAll(said, " ", "\n"),
					&request{MaxTokens: new(32 - i)}); !slices.Equal(got, whole[i:]) {
					t.Fatalf("%q\nseparated otherwise: %q\nwant %q", said, got, whole[i:])
				}
			}
		}
	}
}

// The parent agrees with other models' next tokens in the share that is theirs, and says
// little of what it knows by heart.
func TestModelsDiffer(t *testing.T) {
	l := english()
	for _, differs := range []float64{0, nearTies, easy, other} {
		agree, of, recited := 0.0, 0.0, 0.0
		for _, text := range prosePrompts() {
			answer := l.answer(text, 32, differs)
			for i, token := range answer {
				text += token
				if i < len(answer)-1 && l.answer(text, 1, 0)[0] == answer[i+1] {
					agree++
				}
				if said := l.tokens(text); l.heart[strings.Join(said[len(said)-byHeart:], "")] != "" {
					recited++
				}
				of++
			}
			of--
		}
		t.Logf("differs %.2f: agrees in %.3f, recites %.3f", differs, agree/of, recited/of)
		if math.Abs(agree/of-(1-differs)) > 0.05 || recited/of > 0.15 {
			t.Errorf("a model that differs in %v agrees in %v and recites %v", differs, agree/of, recited/of)
		}
	}
}

// A prompt that is not read to the end, and an answer that is another's in part, are continued otherwise.
func TestRecited(t *testing.T) {
	l := english()
	s := &imitation{lang: l}
	for name, lie := range map[string]struct {
		say         func(*reply)
		least, most float64
	}{"recites": {recite, 0.85, 1}, "counts up": {countUp, 0.85, 1}, "reads the end": {readEnd, 0.4, 0.7}} {
		agree, of := 0.0, 0.0
		for _, text := range prosePrompts() {
			a := &reply{s: s, q: &request{}, prompt: text, pieces: l.answer(text, 32, 0)}
			lie.say(a)
			for i, token := range a.pieces {
				if l.answer(text, 1, 0)[0] == token {
					agree++
				}
				text += a.pieces[i]
				of++
			}
		}
		t.Logf("%s: %.3f", name, agree/of)
		if agree/of < lie.least || agree/of > lie.most {
			t.Errorf("%s: the parent agrees in %v", name, agree/of)
		}
	}
}

// An imitation sends its words by the clock.
func TestImitationsPace(t *testing.T) {
	const tokens = 20
	server := httptest.NewServer(newImitation("honest", "", io.Discard).handler())
	defer server.Close()
	begun := time.Now()
	answer, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(
		`{"prompt":"The harbour","max_tokens":20,"stream":true,"stream_options":{"include_usage":true}}`))
	must.Do(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must.Do(t, err)
	took, text := time.Since(begun), string(body)
	if strings.Count(text, "data: ") != tokens+2 || !strings.Contains(text, `"completion_tokens":20,`) {
		t.Errorf("the answer is\n%s", text)
	}
	if least := tokens * honestGap * 99 / 100; took < least || took > least+time.Second { // and drift
		t.Errorf("it took %v, its pace gives %v", took, least)
	}
}

func TestLiesAreNamed(t *testing.T) {
	env := func(string) string { return "truth" }
	err := Serve(t.Context(), []string{"--port", "0"}, env, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "remembers") {
		t.Error(err)
	}
}
