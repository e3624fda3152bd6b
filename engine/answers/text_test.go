package answers

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestCoherent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int, from, to rune) string {
		var b strings.Builder
		for range n {
			b.WriteRune(from + r.Int32N(to-from))
		}
		return b.String()
	}
	english := strings.Join(prose[:6], " ")
	sound := map[string]string{
		"one word":         "Paris",
		"one character":    "4",
		"a number":         "3.14159",
		"English":          english,
		"all of the prose": strings.Join(prose, "\n"),
		"German":           "Größe ist nicht alles, aber ohne Maß wird selbst das Schönste überflüssig und müde.",
		"Chinese":          "水在高山上沸腾的温度较低，所以豆子要煮得更久。河流把沙子带到海里，大海又把一部分还给海滩。月亮引起潮汐，每天两次。面包因为酵母把糖变成气体而膨胀，面团太黏，气体跑不出去。",
		"Japanese":         "山の上では水は低い温度で沸くので、豆を煮るのに時間がかかる。川は砂を海へ運び、海はその一部を浜に返す。パンは酵母が糖を気体に変えるので膨らむ。",
		"Russian": "В горах вода кипит при более низкой температуре, поэтому фасоль варится дольше. Река " +
			"несёт песок в море.",
		"emoji":              "Well done! 🎉🎉🎉 See you soon 👋",
		"cut in a character": english + " caf\uFFFD",
		"cut in an emoji":    "Nice \uFFFD\uFFFD\uFFFD",
		"code": "func add(a, b int) int {\n\treturn a + b\n}\n\nfunc main() {\n\tfmt.Println(add(1, " +
			"2), add(3, 4))\n}\n",
		"JSON":     `{"name":"x","values":[1,2,3,4,5],"nested":{"ok":true,"why":null},"list":["a","b","c"]}`,
		"a table":  "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n| 7 | 8 |\n| 9 | 10 |\n| 11 | 12 |\n",
		"digits":   random(200, '0', '9'+1),
		"binary":   random(200, '0', '1'+1),
		"counting": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30",
		"a chorus": "Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily, " +
			"life is but a dream.",
		"laughter":     "ha ha ha",
		"about NaN":    "A NaN is not equal to itself, so NaN == NaN is false.",
		"a short list": "yes yes no yes",
	}
	for name, text := range sound {
		if ok, why := Coherent(text); !ok {
			t.Errorf("%s: called garbage: %+v", name, why)
		}
	}
	garbage := map[string]struct {
		text string
		why  Code
	}{
		"nothing":                {"", Empty},
		"white space":            {" \n\n\t ", Empty},
		"exclamation marks":      {strings.Repeat("!", 64), Repeated},
		"a few of them":          {strings.Repeat("!", 8), Repeated},
		"one token":              {strings.Repeat("the", 40), Repeated},
		"one word":               {strings.Repeat("the ", 40), OneWord},
		"one word after a start": {"So " + strings.Repeat("very ", 60), OneWord},
		"replacement characters": {strings.Repeat("\uFFFD", 30), Broken},
		"only a few of them":     {"\uFFFD\uFFFD", OnlyBroken},
		"mixed with them":        {"a\uFFFDb\uFFFDc\uFFFDd", Broken},
		"bytes":                  {"abc\xff\xfe\xfdabc", Broken},
		"control characters":     {"ab\x00\x01\x02cd", Broken},
		"private use":            {"ab\ue000\ue001cd", Broken},
		"NaN":                    {"nan", NotNumbers},
		"NaNs":                   {"nan nan, nan nan", NotNumbers},
		"a list of NaNs":         {"[NaN, NaN, -inf, 1.0]", NotNumbers},
		"dots and a few dashes":  {strings.Repeat(strings.Repeat(".", 17)+"-", 5) + "..-", TooEven},
		"random ASCII":           {random(2000, '!', '~'), TooRandom},
		"random ideographs":      {random(5000, 0x4e00, 0x9fa0), TooRandom},
	}
	for name, g := range garbage {
		if ok, why := Coherent(g.text); ok || why.Code != g.why {
			t.Errorf("%s: ok %v, why %+v; want %q", name, ok, why, g.why)
		}
	}
}

func FuzzCoherent(f *testing.F) {
	f.Add("Paris")
	f.Add("\xff\uFFFD!!")
	f.Add("\xff \xff")
	f.Fuzz(func(t *testing.T, text string) {
		if ok, why := Coherent(text); ok != (why == Sign{}) || ok != (why.Code == "") || !utf8.ValidString(why.Text) {
			t.Errorf("ok %v with reason %+v", ok, why)
		}
		for _, f := range Incoherent([]measure.Sample{{Workload: "chat", Text: text}}) {
			if !utf8.ValidString(f.Excerpt) {
				t.Errorf("%q is not the same once it was written down", f.Excerpt)
			}
		}
	})
}

func TestIncoherent(t *testing.T) {
	samples := []measure.Sample{
		{Workload: "chat", Text: "Paris"},
		{Workload: "chat", Index: 1, Text: " \n"},
		{Workload: "chat", Index: 2, Text: "nan NaN"},
		{Workload: "chat", Index: 3, Text: strings.Repeat("!", 20)},
		{Workload: "chat", Index: 4, Reasoning: "The capital."},
		{Workload: "chat", Index: 5, Tools: `get_weather{"city":"Oslo"}`},
		{Workload: "chat", Warmup: true},
		{Workload: "chat", Context: true},
		{Workload: "chat", Err: "stalled"},
	}
	want := []Finding{
		{Code: Garbage, Cell: "chat", Request: Request{Index: 1}, Sign: Sign{Code: Empty}},
		{
			Code: Garbage, Cell: "chat", Request: Request{Index: 2}, Sign: Sign{Code: NotNumbers, Count: 2, Of: 2},
			Excerpt: "nan NaN",
		},
		{
			Code: Garbage, Cell: "chat", Request: Request{Index: 3}, Sign: Sign{Code: Repeated, Text: "!"},
			Excerpt: strings.Repeat("!", 20),
		},
	}
	if got := Incoherent(samples); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// prose is some sound English. The package that ships it cannot be imported, as it asks
// engines and so knows answers.
var prose = func() []string {
	text, err := os.ReadFile("../load/prompt/prose.txt")
	if err != nil {
		panic(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}()
