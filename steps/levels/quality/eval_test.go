package quality

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestEvalQuestionRight(t *testing.T) {
	for _, c := range []struct {
		answer, pattern, text string
		want                  bool
	}{
		{"42", "", "6 times 7 is 42.", true},
		{"42", "", "42, no: 43", false},
		{"42", "", "It is 142", false},
		{"42", "", "42.0", true},
		{"1,234", "", "so $1234", true},
		{"1234", "", "so 1,234", true},
		{"-3", "", "x = -3", true},
		{"3", "", "7-3", true},
		{"3", "", "x = -3", false},
		{"42", "", "no number", false},
		{"42", "", "", false},
		{"Paris", "", "the capital is paris.", true},
		{"Paris", "", "Parisian", false},
		{"Paris", "", "Parisian Paris", true},
		{"é", "", "caféé é", true},
		{"New York", "", "in New York!", true},
		{"", `^A\b`, "A because", true},
		{"", `^A\b`, "B", false},
		{"", "(", "(", false},
		{"", "", "anything", false},
	} {
		if got := (EvalQuestion{Answer: c.answer, Pattern: c.pattern}).Right(c.text); got != c.want {
			t.Errorf("answer %q pattern %q: %q is right: %v, want %v", c.answer, c.pattern, c.text, got, c.want)
		}
	}
}

func TestParseEvalTellsTheLine(t *testing.T) {
	good := `{"question": "q", "answer": "1"}` + "\n"
	others := func(n int) (lines string) {
		for i := range n {
			lines += fmt.Sprintf(`{"question": "q%d", "answer": "1"}`+"\n", i)
		}
		return lines
	}
	for line, want := range map[string]string{
		`{"question": "q"`:                               "f:2: ",
		good[:len(good)-1]:                               "f:2: the question was asked before",
		`{"question": "q"}`:                              "f:2: it has neither",
		`{"question": "q", "answer": " "}`:               "f:2: it has neither",
		`{"answer": "1"}`:                                "f:2: the question is empty",
		`{"question": "q", "answer": "1", "patern": ""}`: "patern",
		good[:len(good)-1] + ` {}`:                       "more than one",
		`{"question": "q", "pattern": "x*"}`:             "matches an empty answer",
		`{"question": "q", "pattern": "("}`:              "RE2",
	} {
		if _, err := ParseEval("f", good+line+"\n"+others(400), 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	if _, err := ParseEval("f", others(265), 2); err == nil {
		t.Error("265 questions were enough")
	}
	if all, err := ParseEval("f", others(266), 2); err != nil || len(all) != 266 {
		t.Error(len(all), err)
	}
}

func TestJudgeEval(t *testing.T) {
	const n = 500
	// graded is 500 answers of which the first are right, except those that are flipped.
	graded := func(right int, flipped ...int) []bool {
		all := slices.Concat(slices.Repeat([]bool{true}, right), slices.Repeat([]bool{false}, n-right))
		for _, i := range flipped {
			all[i] = !all[i]
		}
		return all
	}
	span := func(from, n int) (all []int) {
		for i := range n {
			all = append(all, from+i)
		}
		return all
	}
	parent := graded(357)
	for name, c := range map[string]struct {
		own     []bool
		parents [][]bool
		want    verdict.Verdict
	}{
		"the same": {parent, [][]bool{parent, parent}, verdict.Pass},
		"3 points worse": {
			graded(357, append(span(0, 18), 490, 491, 492)...),
			[][]bool{parent, parent},
			verdict.Fail,
		},
		"3 points, as the parent": {
			graded(357, append(span(0, 18), 490, 491, 492)...),
			[][]bool{graded(357, span(0, 20)...), parent},
			verdict.Inconclusive,
		},
		"noise both ways": {
			graded(357, append(span(0, 5), span(400, 5)...)...),
			[][]bool{parent, parent},
			verdict.Pass,
		},
		"much noise": {
			graded(357, append(span(0, 40), span(400, 40)...)...),
			[][]bool{parent, parent},
			verdict.Inconclusive,
		},
		"better":                  {graded(400), [][]bool{parent, parent}, verdict.Pass},
		"a parent without answer": {graded(0), [][]bool{graded(0), graded(0)}, verdict.Invalid},
		"all wrong":               {graded(0), [][]bool{parent, parent}, verdict.Fail},
	} {
		if v, reasons, _ := JudgeEval(c.own, c.parents, 2, "A"); v != c.want {
			t.Errorf("%s: %s, want %s: %v", name, v, c.want, reasons)
		}
	}
	_, reasons, values := JudgeEval(graded(357, append(span(0, 18), 490, 491, 492)...), [][]bool{parent, parent}, 2,
		"A")
	if text := reasons[0].String(); !strings.HasPrefix(text,
		"accuracy 71.4% → 68.4% of 500 (-3.0 points, 18 lost, 3 won; A flips 0)") {
		t.Error(text)
	}
	if values["lost"] != 18 || values["drop"] != 3 {
		t.Error(values)
	}
	_, reasons, _ = JudgeEval(graded(357, append(span(0, 40), span(400, 40)...)...), [][]bool{parent, parent}, 2, "A")
	if needed := reasons[0].Values["needed"].Number; needed == nil || *needed <= 500 {
		t.Error(reasons)
	}
}

func TestSamplesOfLMEval(t *testing.T) {
	row := func(id int, filter string, right string) string {
		return fmt.Sprintf(`{"doc_id": %d, "target": "x", "filter": %q, "metrics": ["exact_match"], "exact_match": %s}`+
			"\n", id, filter, right)
	}
	const file = "lm/m/samples_gsm8k_2026-01-02T03-04-05.678901.jsonl"
	rows := map[string][]byte{file: []byte(row(0, "strict-match", "1.0") + row(1, "strict-match", "0.0") +
		row(0, "flexible-extract", "1.0") + row(1, "flexible-extract", "1.0"))}
	for filter, want := range map[string]map[string]bool{
		"": {"gsm8k 0": true, "gsm8k 1": false}, "strict-match": {"gsm8k 0": true, "gsm8k 1": false},
		"flexible-extract": {"gsm8k 0": true, "gsm8k 1": true},
	} {
		got, err := Samples(rows, filter)
		must.Do(t, err)
		scores := got.Scores
		if !maps.Equal(got.Right, want) || len(got.Empty) > 0 || scores["strict-match"][1] != 2 ||
			scores["strict-match"][0] != 1 || scores["flexible-extract"][0] != 2 ||
			scores[cmp.Or(filter, "strict-match")][2] != 2 {
			t.Errorf("%q: %+v; want %v", filter, got, want)
		}
	}
	if _, err := Samples(rows, "none"); err == nil || !strings.Contains(err.Error(),
		`no answers of the filter "none"; there are ["flexible-extract" "strict-match"]`) {
		t.Error(err)
	}
	for text, want := range map[string]string{
		`{"doc_id": 1}`:           "row 1: it lacks doc_id or metrics",
		row(0, "none", "0.5"):     "neither 0 nor 1",
		row(0, "none", "NaN"):     "row 1: ",
		row(0, "none", "1") + "{": "row 2: ",
		"":                        "no documents",
	} {
		if _, err := Samples(map[string][]byte{file: []byte(text)}, ""); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for responses, want := range map[string]bool{
		`[["4"]]`: false, `[["", "4"]]`: false, `[[[-1.5, false]]]`: false, `[[""]]`: true, `[[null]]`: true,
		`[["", ""]]`: true, `[]`: true, `null`: true,
	} {
		text := strings.Replace(row(0, "none", "0"), `"doc_id"`, `"resps": `+responses+`, "doc_id"`, 1)
		if got, err := Samples(map[string][]byte{file: []byte(text)}, ""); err != nil || got.Empty["gsm8k 0"] != want {
			t.Errorf("%s: %+v, %v; without text: %v", responses, got, err, want)
		}
	}
	if _, _, err := Together(map[string]bool{"a 1": true}, map[string]bool{"a 2": true}); err == nil {
		t.Error("other documents were compared")
	}
}

// TestEvalRates sums the chances of all outcomes for docs/statistics.md.
func TestEvalRates(t *testing.T) {
	choose := func(n, k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	rates := func(n int, lost, won float64) (pass, fail float64) {
		most := func(p float64) int { return min(n, int(float64(n)*p+7*math.Sqrt(float64(n)*p)+10)) }
		for b := range most(lost) {
			for c := range min(most(won), n-b) {
				if p := math.Exp(choose(n, b) + choose(n-b, c) + float64(b)*math.Log(lost) + float64(c)*math.Log(won) +
					float64(n-b-c)*math.Log(1-lost-won)); p > 1e-9 {
					switch {
					case 100*stats.PairedDrop(b, c, n) <= UsualDrop:
						pass += p
					case 100*float64(b-c)/float64(n) > UsualDrop && signs(b, c) < worse:
						fail += p
					}
				}
			}
		}
		return pass, fail
	}
	for _, n := range []int{300, 500, 1000, 2000} {
		same, never := rates(n, 0.01, 0.01)
		passes, _ := rates(n, 0.03, 0.01)
		_, three := rates(n, 0.04, 0.01)
		_, five := rates(n, 0.06, 0.01)
		t.Logf("| %d | %.0f%% | %.1f%% | %.1f%% | %.0f%% | %.0f%% |", n, 100*same, 100*passes, 100*never,
			100*three, 100*five)
		for _, noise := range []float64{0.001, 0.01, 0.05} {
			if pass, _ := rates(n, noise+0.02, noise); pass > 0.0101 {
				t.Errorf("%d questions, %v noise: a drop of 2 points passes at %.4f", n, noise, pass)
			}
			if _, fail := rates(n, noise, noise); fail > 0.05 {
				t.Errorf("%d questions, %v noise: no drop fails at %.4f", n, noise, fail)
			}
		}
	}
}
