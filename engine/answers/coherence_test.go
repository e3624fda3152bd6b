package answers

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
)

// seeds is smaller in short runs, as under the race detector.
func seeds() uint64 {
	if testing.Short() {
		return 1
	}
	return 2
}

func TestSoundAnswersAreNoGarbage(t *testing.T) {
	english, forced := sentences, mixed(0.4, circles, sentences)
	for name, arms := range map[string][2]writer{
		"other words":                        {english, english},
		"circles in both":                    {circles, circles},
		"circles here and there":             {forced, forced},
		"circles only in the parent":         {circles, english},
		"empty ones in both":                 {mixed(0.3, always(""), english), mixed(0.3, always(" \n"), english)},
		"the parent is garbage":              {drawn(pieces(), ""), english},
		"garbage in both":                    {drawn(pieces(), ""), drawn(pieces(), "")},
		"one token again and again, in both": {always(strings.Repeat("!", 99)), always(strings.Repeat("!", 99))},
		"ends within a character": {english, func(r *rand.Rand, n int) string {
			return english(r, n) + "\uFFFD\uFFFD"
		}},
		"an emoji that a boundary cut": {english, func(r *rand.Rand, n int) string {
			return english(r, 40) + "\uFFFD\uFFFD\uFFFD" + english(r, n)
		}},
		"short answers":                      {always("Paris."), always("Berlin.")},
		"tables and code here, prose there":  {mixed(0.5, always(table), english), mixed(0.5, always(table), english)},
		"the same words in another language": {always(chinese), always(chinese[3:])},
		"ends early, into white space": {english, func(r *rand.Rand, n int) string {
			return english(r, n/2) + strings.Repeat("\n", n/4)
		}},
		"a number again and again, in a few": {
			mixed(0.1, always(strings.Repeat("so it goes. ", 30)), english),
			english,
		},
		"one of twenty turns in circles more": {english, mixed(0.05, circles, english)},
	} {
		for seed := range seeds() {
			for _, prompts := range []int{1, 3, 12} {
				for _, length := range []int{32, 130, 400} {
					got := Signs(scripts("chat", prompts, length, seed, arms[0]),
						scripts("chat", prompts, length, seed+100, arms[1]))[0]
					if got.Garbage > 0 || got.Of != prompts {
						t.Errorf("%s, %d prompts of %d: %+v", name, prompts, length, got)
					}
				}
			}
		}
	}
}

const table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\nfor i := range 10 {\n\tfmt.Println(i, x[i])\n}\nif err != " +
	"nil {\n\treturn err\n}\n"

const chinese = "水在高山上沸腾的温度较低，所以豆子要煮得更久。河流把沙子带到海里，大海又把一部分还给海滩。月亮引起潮汐，每天两次。面包因为酵母把糖变成气体而膨胀，面团太黏，气体跑不出去。"

func TestGarbageIsFound(t *testing.T) {
	all := []int{1, 3, 10}
	many := []int{10, 16}
	for name, g := range map[string]struct {
		candidate writer
		prompts   []int // that suffice
		lengths   []int
		share     float64 // of prompts that must be called garbage
	}{
		"one token":               {always(strings.Repeat("!", 64)), all, []int{130, 500}, 1},
		"one word":                {always(strings.Repeat("the ", 40)), all, []int{130, 500}, 1},
		"NaN":                     {always("nan nan nan"), all, []int{130}, 1},
		"replacement characters":  {always(strings.Repeat("\uFFFD", 30) + "x"), all, []int{130}, 1},
		"bytes":                   {always(strings.Repeat("ab\xff\xfe", 30)), all, []int{130}, 1},
		"nothing":                 {always(""), []int{3, 10}, []int{130}, 1},
		"white space":             {always("\n\n \n"), []int{3, 10}, []int{130}, 1},
		"one token, now and then": {mixed(0.5, always(strings.Repeat("!", 64)), sentences), many, []int{130}, 0.2},
	} {
		for seed := range seeds() {
			for _, prompts := range g.prompts {
				for _, length := range g.lengths {
					got := Signs(scripts("chat", prompts, length, seed, sentences),
						scripts("chat", prompts, length, seed+100, g.candidate))[0]
					if float64(got.Garbage) < g.share*float64(prompts) || got.Garbage == 0 || got.Garbage > prompts ||
						len(got.Why) == 0 {
						t.Errorf("%s, %d prompts of %d: %+v", name, prompts, length, got)
					}
				}
			}
		}
	}
}

// Too few prompts to be sure are doubtful, not sound.
func TestDoubtful(t *testing.T) {
	for _, prompts := range []int{1, 2} {
		got := Signs(scripts("chat", prompts, 2000, 1, sentences), scripts("chat", prompts, 2000, 2, always("")))[0]
		if got.Doubtful != prompts || got.Garbage > 0 {
			t.Errorf("%d prompts: %+v", prompts, got)
		}
	}
}

// One of many answers may repeat one word or character over and over: a small model does
// that for some prompts, and only how often it does reveals broken numerics.
func TestRepeatsNowAndThen(t *testing.T) {
	for _, c := range []struct {
		text               string
		of, stuck, garbage int
	}{
		{"better ", 18, 1, 0},
		{"better ", 18, 2, 0},
		{"better ", 18, 8, 8},
		{"better ", 3, 3, 3},
		{"1", 18, 1, 0},
		{"1", 18, 8, 8},
		{"1", 2, 1, 0},
		{"1", 2, 2, 2},
	} {
		candidate := scripts("chat", c.of, 60, 2, sentences)
		for i := range c.stuck {
			candidate[i].Text = strings.Repeat(c.text, 12)
		}
		if got := Signs(scripts("chat", c.of, 60, 1, sentences), candidate)[0]; got.Garbage != c.garbage {
			t.Errorf("%q in %d of %d: %+v", c.text, c.stuck, c.of, got)
		}
	}
}

// Launches repeat themselves, and cells are separate.
func TestRelativeByCell(t *testing.T) {
	parent := append(scripts("a", 4, 500, 1, sentences), scripts("b", 10, 500, 1, sentences)...)
	candidate := append(scripts("a", 4, 500, 1, sentences), scripts("b", 7, 500, 1, sentences)...)
	candidate = append(candidate, candidate...)
	candidate[0].Warmup, candidate[0].Text = true, "\xff\xff\xff"
	candidate[1].Err, candidate[1].Text = "stalled", "\xff\xff\xff"
	got := Signs(parent, candidate)
	if len(got) != 2 || got[0].Cell != "a" || got[0].Of != 4 || got[1].Of != 7 || got[0].Garbage+got[1].Garbage > 0 ||
		got[1].Parents != 10 {
		t.Errorf("%+v", got)
	}
	// Three launches of one answer are one answer.
	three := scripts("a", 2, 500, 1, always(""))
	three = append(append(three, three...), three...)
	if got := Signs(scripts("a", 2, 500, 1, sentences), three)[0]; got.Garbage > 0 || got.Doubtful != 2 {
		t.Errorf("%+v", got)
	}
	turns := []measure.Sample{{Workload: "a", Text: "one"}, {Workload: "a", Turn: 1, Text: "two"}}
	if got := Signs(turns, turns[1:])[0]; got.Of != 1 || got.Parents != 2 {
		t.Errorf("%+v", got)
	}
	if got := Signs(nil, nil); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func FuzzSigns(f *testing.F) {
	f.Add("Paris", "\xff\uFFFD!!", 3)
	f.Add(strings.Repeat("a b ", 50), "", 7)
	f.Fuzz(func(t *testing.T, a, b string, n int) {
		n = n%12 + 1
		var parent, candidate []measure.Sample
		for i := range n {
			parent = append(parent, measure.Sample{Index: i, Text: fmt.Sprint(a, i)})
			candidate = append(candidate, measure.Sample{Index: i, Text: fmt.Sprint(b, i)})
		}
		for _, c := range append(Signs(parent, candidate), Signs(candidate, parent)...) {
			if c.Of != n || c.Garbage > c.Of || c.Garbage+c.Doubtful > 2*c.Of || c.Garbage > 0 && len(c.Why) == 0 {
				t.Errorf("%+v", c)
			}
		}
		for _, c := range Signs(parent, parent) {
			if c.Garbage+c.Doubtful > 0 {
				t.Errorf("against itself: %+v", c)
			}
		}
	})
}

// writer makes answers of about n characters.
type writer func(r *rand.Rand, n int) string

// texts are sentences that the comparison itself has never seen.
var texts = sync.OnceValue(func() []string {
	text, err := os.ReadFile("../embedded/corpus.txt")
	if err != nil {
		panic(err)
	}
	return strings.SplitAfter(strings.NewReplacer("Q: ", "", "A: ", "", "\n", " ").Replace(string(text)), ". ")
})

// sentences are sound texts: all different, of one quality.
func sentences(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n+20 {
		b.WriteString(texts()[r.IntN(len(texts()))] + " ")
	}
	from := r.IntN(20)
	return b.String()[from : from+n]
}

// circles repeat themselves after a beginning, as greedy decoding does.
func circles(r *rand.Rand, n int) string {
	start := sentences(r, n/4)
	return (start + strings.Repeat(sentences(r, 25), n/25))[:n]
}

// pieces are short pieces of text, as a vocabulary has them.
func pieces() []string {
	text := strings.Join(texts(), " ")
	r := rand.New(rand.NewPCG(3, 3))
	all := make([]string, 500)
	for i := range all {
		from := r.IntN(len(text) - 5)
		all[i] = text[from : from+1+r.IntN(4)]
	}
	return all
}

func drawn(from []string, space string) writer {
	return func(r *rand.Rand, n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(from[r.IntN(len(from))] + space)
		}
		return b.String()[:n]
	}
}

// always is a writer of one text.
func always(text string) writer { return func(*rand.Rand, int) string { return text } }

// mixed writes that share of answers like bad and the others like good.
func mixed(share float64, bad, good writer) writer {
	return func(r *rand.Rand, n int) string {
		if r.Float64() < share {
			return bad(r, n)
		}
		return good(r, n)
	}
}

func scripts(cell string, prompts, length int, seed uint64, w writer) []measure.Sample {
	r := rand.New(rand.NewPCG(seed, 77))
	samples := make([]measure.Sample, prompts)
	for i := range samples {
		samples[i] = measure.Sample{Workload: cell, Index: i, Text: w(r, length), OutputTokens: length / 4}
	}
	return samples
}
