package answers

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// answer spells tokens "id:p,id:p;…": the first of each position is the token there.
func answer(end string, positions ...map[int]float64) Answer {
	a := Answer{Asked: "q", End: end}
	for _, p := range positions {
		var t Token
		t.ID = -1
		for id, share := range p {
			if t.ID < 0 || share > p[t.ID] {
				t.ID, t.LogProb = id, Of(math.Log(share))
			}
			t.Top = append(t.Top, Alternative{ID: id, LogProb: Of(math.Log(share))})
		}
		a.Tokens = append(a.Tokens, t)
	}
	return a
}

type shares = map[int]float64

func compared(t *testing.T, reference, got Answer) Comparison {
	t.Helper()
	c, err := Compare([]Answer{reference}, []Answer{got}, 0.1)
	must.Do(t, err)
	return c
}

func TestDivergence(t *testing.T) {
	sure := shares{1: 0.9, 2: 0.05}
	parent := answer("length", sure, shares{1: 0.48, 2: 0.47, 3: 0.01}, sure, sure)
	for name, test := range map[string]struct {
		got            Answer
		at             int // -1 if none
		tie            bool
		decode, argmax int // positions of decode that followed the same tokens
	}{
		"the same": {parent, -1, false, 3, 3},
		"a tie": {answer("length", sure, shares{2: 0.48, 1: 0.47, 3: 0.01}, sure,
			shares{5: 0.9, 6: 0.05}), 1, true, 1, 0},
		"a tie for the parent alone":  {answer("length", sure, shares{2: 0.9, 1: 0.05}, sure, sure), 1, false, 1, 0},
		"a token that it cannot know": {answer("length", sure, shares{9: 0.48, 1: 0.47}, sure, sure), 1, false, 1, 0},
		"wrong from the first on":     {answer("length", shares{7: 0.9, 8: 0.05}, sure, sure, sure), 0, false, 0, 0},
		"ended by itself":             {answer("stop", sure, shares{1: 0.48, 2: 0.47, 3: 0.01}), 2, false, 1, 1},
	} {
		c := compared(t, parent, test.got)
		p := c.Pairs[0]
		at, tie := -1, false
		if p.Divergence != nil {
			at, tie = p.Divergence.At, p.Divergence.Tie
		}
		if at != test.at || tie != test.tie {
			t.Errorf("%s: diverged at %d (tie %v)", name, at, tie)
		}
		if c.Decode.Compared != test.decode || c.Decode.Argmax != test.argmax {
			t.Errorf("%s: decode: %+v", name, c.Decode)
		}
		if c.Prefill.Compared != 1 || c.Complete() != nil {
			t.Errorf("%s: prefill: %+v, %v", name, c.Prefill, c.Complete())
		}
	}
}

// Without log-probabilities only tokens are compared, and no divergence is a tie.
func TestMissing(t *testing.T) {
	bare := Answer{Asked: "q", End: "length", Tokens: []Token{{ID: 1}, {ID: 2}}}
	c := compared(t, bare, Answer{Asked: "q", End: "length", Tokens: []Token{{ID: 1}, {ID: 3}}})
	if d := c.Pairs[0].Divergence; d == nil || d.At != 1 || d.Tie {
		t.Errorf("divergence: %+v", d)
	}
	missing, ok := errors.AsType[*MissingError](c.Complete())
	if !ok || *missing != (MissingError{Engine: "reference"}) {
		t.Errorf("complete: %v", c.Complete())
	}
	if c.Decode.Compared > 0 || c.Decode.Mean != 0 {
		t.Errorf("nothing was compared, and the mean is %v", c.Decode.Mean)
	}
	if c, err := Compare(nil, nil, 0); err != nil || c.Complete() == nil {
		t.Errorf("no answers are complete (%v)", err)
	}
	half := answer("length", shares{1: 0.9}, shares{2: 0.9})
	half.Tokens[1] = Token{ID: 2}
	c = compared(t, answer("length", shares{1: 0.9}, shares{2: 0.9}), half)
	missing, ok = errors.AsType[*MissingError](c.Complete())
	if !ok || *missing != (MissingError{Engine: "got", Position: 1}) {
		t.Errorf("complete: %v", c.Complete())
	}
}

func TestOtherRequests(t *testing.T) {
	one := answer("length", shares{1: 0.9})
	two := answer("length", shares{1: 0.9}, shares{1: 0.9})
	other := one
	other.Asked = "other"
	prompted, elsewhere, longer := one, one, one
	prompted.Prompt = []Token{{ID: 1}, {ID: 2, LogProb: Of(-1)}}
	elsewhere.Prompt = []Token{{ID: 1}, {ID: 3, LogProb: Of(-1)}}
	longer.Prompt = append(prompted.Prompt[:2:2], Token{ID: 4, LogProb: Of(-1)})
	for name, test := range map[string]struct {
		reference, got []Answer
		want           string
	}{
		"another request": {
			[]Answer{one},
			[]Answer{other},
			"answer 1 and its reference belong to different requests",
		},
		"another prompt": {
			[]Answer{one, prompted},
			[]Answer{one, elsewhere},
			"answer 2 and its reference have different prompts, from token 2 on",
		},
		"a longer prompt": {
			[]Answer{prompted},
			[]Answer{longer},
			"answer 1 and its reference have different prompts, from token 3 on",
		},
		"fewer answers": {[]Answer{one, one}, []Answer{one}, "1 answers, but 2 in the reference"},
		"cut off at another length": {
			[]Answer{two},
			[]Answer{one},
			"answer 1 was cut off at a limit of 1 tokens, but the other has 2",
		},
		"the reference was cut off ": {
			[]Answer{one},
			[]Answer{two},
			"answer 1 was cut off at a limit of 1 tokens, but the other has 2",
		},
	} {
		_, err := Compare(test.reference, test.got, 0)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// A prompt's positions count as prefill, and its perplexity is e to the power of the mean surprise.
func TestPrompt(t *testing.T) {
	prompted := func(second float64) Answer {
		a := answer("length", shares{1: 0.9, 2: 0.05})
		a.Prompt = []Token{
			{ID: 1},
			{ID: 2, LogProb: Of(second), Top: []Alternative{{ID: 5, LogProb: Of(-0.5)}, {ID: 2, LogProb: Of(second)}}},
			{ID: 3, LogProb: Of(-1), Top: []Alternative{{ID: 3, LogProb: Of(-1)}, {ID: 4, LogProb: Of(-2)}}},
		}
		return a
	}
	c := compared(t, prompted(-3), prompted(-1))
	if c.Prefill.Compared != 3 || c.Decode.Compared != 0 || c.Prefill.Argmax != 3 {
		t.Errorf("prefill %+v", c.Prefill)
	}
	for _, side := range []struct {
		got  Side
		want float64
	}{{c.Reference, math.Exp(2)}, {c.Got, math.Exp(1)}} {
		if v, _ := side.got.Perplexity.Finite(); math.Abs(v-side.want) > 1e-9 {
			t.Errorf("perplexity %v, want %v", side.got.Perplexity, side.want)
		}
	}
	holed := prompted(-1)
	holed.Prompt[1] = Token{ID: 2}
	c = compared(t, prompted(-3), holed)
	if v, given := c.Got.Perplexity.Number(); given {
		t.Errorf("a prompt with a hole has the perplexity %v", v)
	}
	if missing, ok := errors.AsType[*MissingError](c.Complete()); !ok || !missing.Prompt || missing.Position != 1 ||
		missing.Engine != "got" {
		t.Errorf("complete: %v", c.Complete())
	}
	c = compared(t, prompted(-3), answer("length", shares{1: 0.9, 2: 0.05}))
	if missing, ok := errors.AsType[*MissingError](c.Complete()); !ok || !missing.Prompt || missing.Engine != "got" {
		t.Errorf("one side without its prompt: %v", c.Complete())
	}
}

// Values that no distribution has are counted, and their positions are not compared.
func TestFlaws(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, test := range map[string]struct {
		token Token
		want  Flaws
	}{
		"sound": {
			Token{ID: 1, LogProb: Of(-0.1), Top: []Alternative{{ID: 2, LogProb: Of(-9)}}},
			Flaws{},
		},
		"sound, impossible": {
			Token{ID: 1, LogProb: Of(-0.1), Top: []Alternative{{ID: 2, LogProb: Of(-inf)}}},
			Flaws{},
		},
		"NaN": {Token{ID: 1, LogProb: Of(nan)}, Flaws{NaN: 1}},
		"NaN twice": {Token{
			ID: 1, LogProb: Of(nan),
			Top: []Alternative{{ID: 1, LogProb: Of(nan)}, {ID: 2, LogProb: Of(nan)}},
		}, Flaws{NaN: 2}},
		"-Inf where it stands": {Token{ID: 1, LogProb: Of(-inf)}, Flaws{Inf: 1}},
		"+Inf": {
			Token{ID: 1, LogProb: Of(-1), Top: []Alternative{{ID: 2, LogProb: Of(inf)}}},
			Flaws{Inf: 1},
		},
		"above 1": {Token{ID: 1, LogProb: Of(0.5)}, Flaws{Above: 1}},
		"a sum above 1": {
			Token{ID: 1, LogProb: Of(-0.1), Top: []Alternative{{ID: 2, LogProb: Of(-0.2)}}},
			Flaws{Sums: 1},
		},
		"two values": {
			Token{ID: 1, LogProb: Of(-1), Top: []Alternative{{ID: 1, LogProb: Of(-2)}}},
			Flaws{Repeated: 1},
		},
		"listed twice": {Token{
			ID: 1, LogProb: Of(-1),
			Top: []Alternative{{ID: 2, LogProb: Of(-2)}, {ID: 2, LogProb: Of(-2)}},
		}, Flaws{Repeated: 1}},
	} {
		reference := answer("length", shares{1: 0.9})
		c := compared(t, reference, Answer{Asked: "q", End: "length", Tokens: []Token{test.token}})
		if c.Got.Flaws != test.want || c.Reference.Flaws.Any() {
			t.Errorf("%s: flaws %+v, want %+v", name, c.Got.Flaws, test.want)
		}
		if compared := c.Prefill.Compared == 1; compared == test.want.Any() {
			t.Errorf("%s: compared %v", name, compared)
		}
		if (c.Complete() == nil) == test.want.Any() {
			t.Errorf("%s: complete: %v", name, c.Complete())
		}
	}
}

// The numbers do not depend on the order of lists, nor on whether they hold the token.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	reference, got := random(r, 5, 40, 8), random(r, 5, 40, 8)
	want, err := Compare(reference, got, 0)
	must.Do(t, err)
	for i := range got {
		for j := range got[i].Tokens {
			token := &got[i].Tokens[j]
			r.Shuffle(len(token.Top), func(a, b int) { token.Top[a], token.Top[b] = token.Top[b], token.Top[a] })
			for a := range token.Top {
				if token.Top[a].ID == token.ID { // the reference's list keeps it
					token.Top = append(token.Top[:a:a], token.Top[a+1:]...)
					break
				}
			}
		}
	}
	again, err := Compare(reference, got, 0)
	must.Do(t, err)
	for _, parts := range [][2]Part{{want.Prefill, again.Prefill}, {want.Decode, again.Decode}} {
		if math.Abs(parts[0].Mean-parts[1].Mean) > 1e-9 || parts[0].Argmax != parts[1].Argmax ||
			parts[0].Compared != parts[1].Compared {
			t.Errorf("%+v became %+v", parts[0], parts[1])
		}
	}
}

// random are answers of a model whose likeliest token is always the same, so all
// positions are compared, with the noise of a quantised engine.
func random(r *rand.Rand, answers, tokens, k int) []Answer {
	all := make([]Answer, answers)
	for i := range all {
		all[i] = Answer{Asked: "q", End: "length"}
		for at := range tokens {
			p := distribution(r, 3*k, 0.05)
			id := at % 5
			t := Token{Text: strings.Repeat("x", 1+id), ID: id, LogProb: Of(math.Log(0.5))}
			t.Top = append(t.Top, Alternative{Text: t.Text, ID: id, LogProb: t.LogProb})
			for j := range k - 1 {
				t.Top = append(t.Top, Alternative{Text: "y", ID: 100 + j, LogProb: Of(math.Log(p[j] / 2))})
			}
			all[i].Tokens = append(all[i].Tokens, t)
		}
	}
	return all
}

// Answers come from engines and files: whatever they contain, no divergence is NaN or
// negative, and an answer has no distance from itself.
func FuzzCompare(f *testing.F) {
	text, err := json.Marshal(random(rand.New(rand.NewPCG(7, 8)), 2, 3, 3))
	must.Do(f, err)
	f.Add(string(text), string(text), 0.1)
	f.Add(`[{"tokens":[{"text":"a","id":-1,"logprob":"NaN","top":[{"text":"a","id":-1,"logprob":"-Inf"}]}]}]`,
		`[{"tokens":[]}]`, 0.0)
	f.Add(
		`[{"tokens":[{"text":"a","id":-1,"logprob":-1},{"text":"a","logprob":-0.1,"top":[{"text":"a","logprob":-9999}]}],"prompt":[{},{"logprob":0}]}]`,
		`[{"tokens":[{"text":"b","id":1,"logprob":-1,"top":[{"text":"b","logprob":-2,"id":-1},{"text":"b","id":-1,"logprob":-3}]}],"prompt":[{},{"logprob":0}]}]`, 1.0)
	f.Fuzz(func(t *testing.T, one, two string, tie float64) {
		var a, b []Answer
		if json.Unmarshal([]byte(one), &a) != nil || json.Unmarshal([]byte(two), &b) != nil {
			return
		}
		if c, err := Compare(a, b, tie); err == nil {
			sound(t, c.Prefill)
			sound(t, c.Decode)
		}
		c, err := Compare(a, a, tie)
		if err != nil {
			t.Fatalf("an answer is not comparable to itself: %v", err)
		}
		for _, part := range []Part{c.Prefill, c.Decode} {
			sound(t, part)
			if part.Mean > 1e-9 {
				t.Fatalf("an answer is %v from itself", part.Mean)
			}
		}
		for _, p := range c.Pairs {
			if p.Divergence != nil {
				t.Fatalf("an answer differs from itself: %+v", p)
			}
		}
	})
}

func sound(t *testing.T, p Part) {
	t.Helper()
	if p.Ranked > p.Compared || p.Argmax > p.Ranked || !(p.Mean >= 0) || !(p.P99 >= 0) || p.Compared == 0 &&
		p.Mean+p.P99 > 0 {
		t.Fatalf("a summary that cannot be: %+v", p)
	}
}
