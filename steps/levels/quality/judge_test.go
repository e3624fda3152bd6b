package quality

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
)

const (
	prompts = 32
	tokens  = 16
)

// answered is a launch in which the likelier of two tokens had that log-odds, by prompt
// and position.
func answered(odds func(prompt, token int) float64) *Recording {
	r := &Recording{
		Ask:     Ask{Cells: []Cell{{Prompts: prompts, Concurrency: 1, PromptTokens: 8}}},
		Prompts: make([][]prompt.Prompt, 1), Answers: make([][]answers.Answer, 1),
	}
	for i := range prompts {
		r.Prompts[0] = append(r.Prompts[0], prompt.Prompt{Text: string(rune('a' + i))})
		a := answers.Answer{End: "length"}
		for at := range tokens {
			yes := -math.Log1p(math.Exp(-odds(i, at)))
			no := -math.Log1p(math.Exp(odds(i, at)))
			list := []answers.Alternative{
				{Text: "yes", ID: 1, LogProb: answers.Of(yes)},
				{Text: "no", ID: 2, LogProb: answers.Of(no)},
			}
			token := answers.Token{Text: "yes", ID: 1, LogProb: answers.Of(yes), Top: list}
			if no > yes {
				token.Text, token.ID, token.LogProb = "no", 2, answers.Of(no)
			}
			a.Tokens = append(a.Tokens, token)
		}
		r.Answers[0] = append(r.Answers[0], a)
	}
	return r
}

func same(int, int) float64 { return 2 }

func TestJudge(t *testing.T) {
	limited := func(kl float64) Settings { argmax := 0.99; return Settings{MaxKL: &kl, MinArgmaxMatch: &argmax} }
	noisy := func(by float64, launch int) func(int, int) float64 {
		return func(i, at int) float64 { return 3 + by*math.Sin(float64(1+launch*97+i*31+at*7)) }
	}
	nan := answered(same)
	nan.Answers[0][3].Tokens[2].LogProb = answers.Of(math.NaN())
	bare := answered(same)
	for i := range bare.Answers[0] {
		for at := range bare.Answers[0][i].Tokens {
			bare.Answers[0][i].Tokens[at].Top, bare.Answers[0][i].Tokens[at].LogProb = nil, answers.Value{}
		}
	}
	other := answered(same)
	other.Prompts[0][0].Text = "another"
	unlike := answered(same)
	for i := range unlike.Answers[0] {
		for at := range unlike.Answers[0][i].Tokens {
			t := &unlike.Answers[0][i].Tokens[at]
			t.Text, t.ID, t.LogProb = "no", 2, t.Top[1].LogProb
		}
	}
	short := answered(same)
	for i := range short.Answers[0] {
		short.Answers[0][i].Tokens, short.Answers[0][i].End = short.Answers[0][i].Tokens[:4], "stop"
	}
	few := func() *Recording {
		r := answered(same)
		for i := range r.Answers[0] {
			r.Answers[0][i].Tokens = r.Answers[0][i].Tokens[:1]
			r.Answers[0][i].End = "stop"
		}
		return r
	}
	silent := answered(same)
	for i := range silent.Answers[0] {
		silent.Answers[0][i].Tokens = nil
	}
	quiet := []*Recording{answered(same), answered(same)}
	for _, c := range []struct {
		name    string
		own     *Recording
		parents []*Recording
		limits  Settings
		want    verdict.Verdict
		reason  code.Kind
	}{
		{"the same answers", answered(same), quiet, limited(0), verdict.Pass, "quality.within"},
		{
			"a little off, within the limit", answered(func(int, int) float64 { return 2.1 }), quiet, limited(0.02),
			verdict.Pass, "quality.within",
		},
		{
			"a little off, beyond a tight limit", answered(func(int, int) float64 { return 2.1 }), quiet,
			limited(0.0001),
			verdict.Fail, "quality.over",
		},
		{
			"another model", answered(func(int, int) float64 { return -2 }), quiet, limited(0.02), verdict.Fail,
			"quality.over",
		},
		{"one prompt in 32 is wrong", answered(func(i, _ int) float64 {
			if i == 20 {
				return 12
			}
			return 2
		}), quiet, limited(0.001), verdict.Fail, "quality.over"},
		{
			"as far off as the parent from itself", answered(noisy(1, 3)),
			[]*Recording{answered(noisy(1, 1)), answered(noisy(1, 2))},
			limited(0.0001), verdict.Pass, "quality.noise",
		},
		{
			"farther off than a noisy parent", answered(noisy(4, 3)),
			[]*Recording{answered(noisy(1, 1)), answered(noisy(1, 2))},
			limited(0.0001), verdict.Fail, "quality.over",
		},
		{"NaN", nan, quiet, limited(0.02), verdict.Fail, "quality.flaws"},
		{
			"a parent with NaN", answered(same),
			[]*Recording{nan, answered(same)},
			limited(0.02), verdict.Invalid,
			"quality.parent_flaws",
		},
		{"no log-probabilities", bare, quiet, limited(0.02), verdict.Error, code.QualityMissing.Kind},
		{"other prompts", other, quiet, limited(0.02), verdict.Error, "quality.other_prompts"},
		{"too few positions", few(), []*Recording{few(), few()}, limited(0.02), verdict.Inconclusive, "quality.few"},
		{
			"wrong from the first token on, so that few positions are compared",
			answered(func(int, int) float64 { return -2 }), quiet, limited(0.02), verdict.Fail, "quality.over",
		},
		{
			"tokens that are not the likeliest of their own lists", unlike, quiet, limited(0.02), verdict.Fail,
			"quality.over",
		},
		{"right as far as it goes, and then at an end", short, quiet, limited(0.02), verdict.Fail, "quality.over"},
		{"no answers", silent, quiet, limited(0.02), verdict.Fail, "quality.empty"},
	} {
		v, reasons, _ := c.limits.Judge(c.own, c.parents, "baseline")
		if v != c.want || len(reasons) == 0 || reasons[0].Kind != c.reason {
			t.Errorf("%s: %s %+v, want %s %s", c.name, v, reasons, c.want, c.reason)
		}
	}
}

// A parent is as noisy as it is, but it has to be sound, and to give what limits need.
// TestBitEqual: one digit, one missing number or another prompt is a difference.
func TestBitEqual(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Recording)
		want   int
	}{
		"the same": {func(*Recording) {}, prompts * tokens},
		"a digit of a token": {func(r *Recording) {
			r.Answers[0][3].Tokens[2].LogProb = answers.Of(math.Nextafter(-math.Log1p(math.Exp(-2)), 0))
		}, 0},
		"a digit of an alternative": {func(r *Recording) {
			r.Answers[0][3].Tokens[2].Top[1].LogProb = answers.Of(math.Nextafter(-math.Log1p(math.Exp(2)), 0))
		}, 0},
		"not given": {func(r *Recording) { r.Answers[0][3].Tokens[2].LogProb = answers.Value{} }, 0},
		"shorter":   {func(r *Recording) { r.Answers[0][3].Tokens = r.Answers[0][3].Tokens[:5] }, 0},
		"a prompt":  {func(r *Recording) { r.Prompts[0][3].Text = "another" }, 0},
		"no answer": {func(r *Recording) { r.Answers[0] = nil }, 0},
	} {
		own := answered(same)
		c.change(own)
		must.Equal(t, name, BitEqual(own, answered(same)), c.want)
	}
	bare, also := answered(same), answered(same)
	for _, r := range []*Recording{bare, also} {
		r.Answers[0][0].Tokens[0].LogProb = answers.Value{}
	}
	must.Equal(t, "equal tokens of what neither gave", BitEqual(bare, also), 0)
}

func TestItself(t *testing.T) {
	kl := 0.0
	s := Settings{MaxKL: &kl}
	one, other := answered(same), answered(func(int, int) float64 { return 2.5 })
	v, reasons, found := s.CompareWithItself([]*Recording{one, other})
	if v != verdict.Pass || reasons[0].Kind != "quality.itself" || found[KL] <= 0 {
		t.Errorf("%s %+v %v", v, reasons, found)
	}
	other.Answers[0][0].Tokens[0].Top[1].LogProb = answers.Of(math.Inf(1))
	if v, reasons, _ := s.CompareWithItself([]*Recording{one, other}); v != verdict.Fail ||
		reasons[0].Kind != "quality.flaws" {
		t.Errorf("%s %+v", v, reasons)
	}
	if v, reasons, _ := (&Settings{MaxPerplexityIncrease: &kl}).CompareWithItself([]*Recording{one, one}); v !=
		verdict.Error || reasons[0].Kind != code.QualityNoText.Kind {
		t.Errorf("%s %+v", v, reasons)
	}
}

// Where two sound engines part at a near-tie, argmax match is no less.
func TestNearTie(t *testing.T) {
	least := 1.0
	s := Settings{MinArgmaxMatch: &least}
	at := func(odds float64) func(int, int) float64 {
		return func(i, token int) float64 {
			if i == 3 && token == 8 {
				return odds
			}
			return 2
		}
	}
	parent := []*Recording{answered(at(0.01)), answered(at(0.01))}
	for odds, want := range map[float64]verdict.Verdict{-0.01: verdict.Pass, -0.5: verdict.Fail} {
		if v, reasons, found := s.Judge(answered(at(odds)), parent, "baseline"); v != want {
			t.Errorf("%v: %s %+v %v", odds, v, reasons, found)
		}
	}
}

// TestWhole: a stored reference without prompts is an error, not an empty comparison.
func TestWhole(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"ask":{"cells":[{}]},"prompts":[[]],"answers":[[]]}`,
		`{"ask":{"cells":[{}]},"prompts":[],"answers":[]}`,
	} {
		r := &Recording{}
		must.Do(t, json.Unmarshal([]byte(text), r))
		if r.whole() == nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
}
