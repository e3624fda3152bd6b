package coherence

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/load/prompt"
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
	english := strings.Join(prompt.Prose()[:6], " ")
	sound := map[string]string{
		"one word":           "Paris",
		"one character":      "4",
		"a number":           "3.14159",
		"English":            english,
		"all of the prose":   strings.Join(prompt.Prose(), "\n"),
		"German":             "Größe ist nicht alles, aber ohne Maß wird selbst das Schönste überflüssig und müde.",
		"Chinese":            "水在高山上沸腾的温度较低，所以豆子要煮得更久。河流把沙子带到海里，大海又把一部分还给海滩。月亮引起潮汐，每天两次。面包因为酵母把糖变成气体而膨胀，面团太黏，气体跑不出去。",
		"Japanese":           "山の上では水は低い温度で沸くので、豆を煮るのに時間がかかる。川は砂を海へ運び、海はその一部を浜に返す。パンは酵母が糖を気体に変えるので膨らむ。",
		"Russian":            "В горах вода кипит при более низкой температуре, поэтому фасоль варится дольше. Река несёт песок в море.",
		"emoji":              "Well done! 🎉🎉🎉 See you soon 👋",
		"cut in a character": english + " caf\uFFFD",
		"cut in an emoji":    "Nice \uFFFD\uFFFD\uFFFD",
		"code":               "func add(a, b int) int {\n\treturn a + b\n}\n\nfunc main() {\n\tfmt.Println(add(1, 2), add(3, 4))\n}\n",
		"JSON":               `{"name":"x","values":[1,2,3,4,5],"nested":{"ok":true,"why":null},"list":["a","b","c"]}`,
		"a table":            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n| 7 | 8 |\n| 9 | 10 |\n| 11 | 12 |\n",
		"digits":             random(200, '0', '9'+1),
		"binary":             random(200, '0', '1'+1),
		"counting":           "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30",
		"a chorus":           "Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily, life is but a dream.",
		"laughter":           "ha ha ha",
		"about NaN":          "A NaN is not equal to itself, so NaN == NaN is false.",
		"a short list":       "yes yes no yes",
	}
	for name, text := range sound {
		if ok, why := Coherent(text); !ok {
			t.Errorf("%s: called garbage: %s", name, why)
		}
	}
	garbage := map[string]struct{ text, why string }{
		"nothing":                {"", "empty"},
		"white space":            {" \n\n\t ", "empty"},
		"exclamation marks":      {strings.Repeat("!", 64), `"!" again and again`},
		"a few of them":          {strings.Repeat("!", 8), `"!" again and again`},
		"one token":              {strings.Repeat("the", 40), `"the" again and again`},
		"one word":               {strings.Repeat("the ", 40), `"the" is`},
		"one word after a start": {"So " + strings.Repeat("very ", 60), `"very" is`},
		"replacement characters": {strings.Repeat("\uFFFD", 30), "replacement"},
		"only a few of them":     {"\uFFFD\uFFFD", "replacement"},
		"mixed with them":        {"a\uFFFDb\uFFFDc\uFFFDd", "replacement"},
		"bytes":                  {"abc\xff\xfe\xfdabc", "replacement"},
		"control characters":     {"ab\x00\x01\x02cd", "control"},
		"private use":            {"ab\ue000\ue001cd", "private"},
		"NaN":                    {"nan", "NaN"},
		"NaNs":                   {"nan nan, nan nan", "NaN"},
		"a list of NaNs":         {"[NaN, NaN, -inf, 1.0]", "NaN"},
		"dots and a few dashes":  {strings.Repeat(strings.Repeat(".", 17)+"-", 5) + "..-", "less than any text"},
		"random ASCII":           {random(2000, '!', '~'), "more than any text"},
		"random ideographs":      {random(5000, 0x4e00, 0x9fa0), "more than any text"},
	}
	for name, g := range garbage {
		if ok, why := Coherent(g.text); ok || !strings.Contains(why.String(), g.why) {
			t.Errorf("%s: ok %v, why %q; want %q", name, ok, why, g.why)
		}
	}
}

func FuzzCoherent(f *testing.F) {
	f.Add("Paris")
	f.Add("\xff\uFFFD!!")
	f.Add("\xff \xff")
	f.Fuzz(func(t *testing.T, text string) {
		if ok, why := Coherent(text); ok != (why == Sign{}) || why.Code != "" && why.String() == string(why.Code) && why.Code != Empty {
			t.Errorf("ok %v with reason %q", ok, why)
		}
		for _, f := range Incoherent([]measure.Sample{{Workload: "chat", Text: text}}) {
			var read Finding
			if data, err := json.Marshal(f); err != nil || json.Unmarshal(data, &read) != nil || read != f {
				t.Errorf("%+v is read back as %+v, %v", f, read, err)
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
	got := Incoherent(samples)
	want := []string{"request 1: empty (", "request 2: 2 of 2 words are NaN", "request 3: "}
	if len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range want {
		if got[i].Cell != "chat" || !strings.HasPrefix(got[i].String(), want[i]) {
			t.Errorf("%+v, want %q…", got[i], want[i])
		}
	}
}
