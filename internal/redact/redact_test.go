package redact

import (
	"encoding/base64"
	"encoding/json"
	"math/rand"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// check compares what is left of texts.
func check(t *testing.T, r *Redactor, texts map[string]string) {
	t.Helper()
	for text, want := range texts {
		must.Equal(t, text, r.Text(text), want)
	}
}

func TestSecretsAreTakenOutOfText(t *testing.T) {
	r := New([]string{"hunter2", "hunter22", "a\"b\\c d", "abc", "", "first line\nsecond line"})
	check(t, r, map[string]string{
		"":                        "",
		"nothing here":            "nothing here",
		"hunter2":                 Mark,
		"hunter22":                Mark, // the longer one, not the shorter and a rest
		"x=hunter2;y=hunter22":    "x=" + Mark + ";y=" + Mark,
		"abc is too short":        "abc is too short",
		`say a"b\c d`:             "say " + Mark,
		`{"t":"a\"b\\c d"}`:       `{"t":"` + Mark + `"}`,
		"q=a%22b%5Cc+d":           "q=" + Mark,
		"p/a%22b%5Cc%20d":         "p/" + Mark,
		"log: second line ends":   "log: " + Mark + " ends",
		"aHVudGVyMg==":            Mark,
		"HUNTER2":                 "HUNTER2",
		"first line\nsecond line": Mark,
	})
}

// TestNoFormOfASecretIsLeft makes secrets at random and puts them into text in the ways that programs do.
func TestNoFormOfASecretIsLeft(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	const letters = "abcXYZ019-_./+=%&<>\"'\\ {}$äß😀"
	runes := []rune(letters)
	for range 500 {
		var secret strings.Builder
		for range 4 + random.Intn(40) {
			secret.WriteRune(runes[random.Intn(len(runes))])
		}
		s := secret.String()
		quoted, _ := json.Marshal(s)
		basic := base64.StdEncoding.EncodeToString([]byte("user:" + s))
		r := New([]string{s})
		for _, form := range []string{
			s, string(quoted), strconv.Quote(s), url.QueryEscape(s), url.PathEscape(s),
			base64.StdEncoding.EncodeToString([]byte(s)),
		} {
			got := r.Text("before " + form + " after")
			if strings.Contains(got, s) || !strings.Contains(got, Mark) || !strings.HasPrefix(got, "before ") ||
				!strings.HasSuffix(got, " after") {
				t.Fatalf("secret %q as %s: %s", s, form, got)
			}
		}
		if len(s) >= 12 && r.Text("Basic "+basic) == "Basic "+basic {
			t.Fatalf("secret %q stays in %s", s, basic)
		}
	}
}

// TestPartsOfASecret is what programs make of one besides spelling it out.
func TestPartsOfASecret(t *testing.T) {
	const secret = `sk-Live_0123"456789 aBcD`
	r := New([]string{secret, "https://kim:pa55word@db.example/x", "        indented by eight"})
	check(t, r, map[string]string{
		"cut " + secret[:len(secret)-1] + ";":         "cut " + Mark + ";",
		"seven " + secret[5:12] + ";":                 "seven " + secret[5:12] + ";",
		"upper " + strings.ToUpper(secret) + ";":      "upper " + Mark + ";",
		`repr 'sk-Live_0123"456789 aBcD';`:            "repr '" + Mark + "';",
		`repr "sk-Live_0123\"456789 aBcD";`:           `repr "` + Mark + `";`,
		`bytes b'\x73k-\x4cive_0123"4567';`:           `bytes b'` + Mark + `';`,
		"two " + secret[:9] + ", " + secret[9:] + ";": "two " + Mark + ", " + Mark + ";",
		"gets https://huggingface.co:443 --------": "gets https://huggingface.co:443 " +
			"--------",
		"gets https://kim:pa55word@db.example/x":                               "gets " + Mark,
		"gets db.example/x":                                                    "gets " + Mark,
		"        more than eight spaces":                                       "        more than eight spaces",
		"basic " + base64.StdEncoding.EncodeToString([]byte("u:"+secret[:20])): "basic dTp" + Mark + "A==",
		// What is not seen.
		"spaced s k - L i v e _ 0 1 2 3 ;": "spaced s k - L i v e _ 0 1 2 3 ;",
		"back DcBa 987654\"3210_eviL-ks;":  "back DcBa 987654\"3210_eviL-ks;",
		strings.Repeat("y", 100):           strings.Repeat("y", 100),
	})
	check(t, New([]string{"zzzzzzzzzz"}), map[string]string{"a zzzzzzzzzz b": "a " + Mark + " b"}) // of one letter
}

// TestWholeLeavesParts: keys and digests must differ where texts do.
func TestWholeLeavesParts(t *testing.T) {
	check(t, OnlyWhole([]string{"0123456789abcdef"}), map[string]string{
		"0123456789abcde": "0123456789abcde", "0123456789ABCDEF": "0123456789ABCDEF",
		`"0123456789abcdef0123456789\u0061bcdef"`: `"` + Mark + Mark + `"`,
	})
}

// FuzzText: no text makes it stumble, and what is left of one has nothing to remove.
func FuzzText(f *testing.F) {
	f.Add("some \\u00e4\\x41%42 text\\", "a secret of \\ and %41 some length")
	f.Add("s\xc3\xa4\xc3", "\xa4\xc3secret")
	f.Fuzz(func(t *testing.T, text, secret string) {
		r := New([]string{secret})
		for _, s := range []string{
			text, text + secret + text, text + strconv.Quote(secret),
			secret[len(secret)/2:] + text,
		} {
			for rest := range strings.SplitSeq(r.Text(s), Mark) {
				if again := r.Text(rest); again != rest && !strings.Contains(secret, Mark[:2]) {
					t.Fatalf("secret %q in %q leaves %q, of which is left %q", secret, s, rest, again)
				}
			}
			if len(r.Cut(s, 10)) > 10 || len(r.WithoutCutStart(s)) > len(s) {
				t.Fatalf("%q grows", s)
			}
		}
	})
}

type word string

type record struct {
	Type    string
	Node    string
	Reasons []string
	Env     map[string]string
	Any     any
	Word    word
	When    time.Time
	Inner   *record
	Numbers []float64
	hidden  string
}

func sample() *record {
	return &record{
		Type: "hunter2", Node: "node hunter2", Reasons: []string{"it said hunter2"},
		Env: map[string]string{"hunter2": "hunter2"},
		Any: map[string]any{"list": []any{"hunter2", 1.5, nil}}, Word: "hunter2", When: time.Unix(5, 0).UTC(),
		hidden: "hunter2",
		Inner:  &record{Type: "x", Reasons: []string{"hunter2"}}, Numbers: []float64{1, 2},
	}
}

func TestDataIsCopiedWithoutSecrets(t *testing.T) {
	before := sample()
	got := New([]string{"hunter2"}).Any(before, "Type").(*record)
	want := &record{
		Type: "hunter2", Node: "node " + Mark, Reasons: []string{"it said " + Mark},
		Env: map[string]string{"hunter2": Mark},
		Any: map[string]any{"list": []any{Mark, 1.5, nil}}, Word: "hunter2", When: time.Unix(5, 0).UTC(),
		hidden: "hunter2",
		Inner:  &record{Type: "x", Reasons: []string{Mark}}, Numbers: []float64{1, 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !reflect.DeepEqual(before, sample()) {
		t.Error("the original was changed")
	}
	shared := before.Reasons
	New([]string{"hunter2"}).Clean(before, "Type")
	if !reflect.DeepEqual(before, want) {
		t.Errorf("in place: got %+v", before)
	}
	if shared[0] != "it said hunter2" {
		t.Error("a list that others hold was written to")
	}
}

func TestNothingToRedact(t *testing.T) {
	r := New([]string{"abc", ""})
	if r.Active() || r.Text("abc") != "abc" || string(r.Bytes([]byte("abc"))) != "abc" || r.Any(3) != 3 {
		t.Error("a redactor without secrets changes something")
	}
	r.Clean(sample())
	New([]string{"hunter2"}).Clean(nil)
	must.Equal(t, "nil becomes", New([]string{"hunter2"}).Any(nil), nil)
}

func TestMarksCanTellSecretsApart(t *testing.T) {
	r := NewWith([]string{"secret one", "secret two"}, func(s string) string { return "<" + s[7:] + ">" })
	check(t, r, map[string]string{"secret one, secret two, secret+one": "<one>, <two>, <one>"})
}

// TestFormsOfOtherLanguages covers what Python's json.dumps, with and without ensure_ascii, urllib's quote and
// quote_plus, and JavaScript's encodeURIComponent make of a secret.
func TestFormsOfOtherLanguages(t *testing.T) {
	r := New([]string{"pä\"ß/😀 \x7f\u2028<k>!"})
	for _, form := range []string{
		`p\u00e4\"\u00df/\ud83d\ude00 \u007f\u2028<k>!`,
		"pä\\\"ß/😀 \x7f\u2028<k>!",
		`p%C3%A4%22%C3%9F/%F0%9F%98%80%20%7F%E2%80%A8%3Ck%3E%21`,
		`p%C3%A4%22%C3%9F%2F%F0%9F%98%80%20%7F%E2%80%A8%3Ck%3E%21`,
		`p%C3%A4%22%C3%9F%2F%F0%9F%98%80+%7F%E2%80%A8%3Ck%3E%21`,
		`p%c3%a4%22%c3%9f%2f%f0%9f%98%80%20%7f%e2%80%a8%3ck%3e%21`,
		`p%C3%A4%22%C3%9F%2F%F0%9F%98%80%20%7F%E2%80%A8%3Ck%3E!`,
	} {
		must.Equal(t, form, r.Text("a "+form+" b"), "a "+Mark+" b")
	}
}

// A short secret occurs in digests by chance; a long one does not.
func TestDigests(t *testing.T) {
	sum := strings.Repeat("a", 20) + "1234" + strings.Repeat("b", 40)
	if got := New([]string{"1234"}).Any(sum); got != sum {
		t.Errorf("%v", got)
	}
	if got := New([]string{"1234"}).Any("token 1234"); got != "token [redacted]" {
		t.Errorf("%v", got)
	}
	if got := New([]string{"aaaa1234bbbb"}).Any(sum); got == sum {
		t.Error("a long secret stays in a digest")
	}
}

// TestCutLeavesNoHalfOfASecret puts secrets at every place of a text and cuts it
// everywhere, both whole and as given by a reader that stopped in the middle.
func TestCutLeavesNoHalfOfASecret(t *testing.T) {
	secrets := []string{"sk-Zürich/0123456789 ABCDEF", "QQWWEERRTTYY"}
	r := New(secrets)
	for _, form := range r.forms {
		for _, at := range []int{0, 1, 7, 39} {
			text := strings.Repeat("-", at) + form + strings.Repeat("-", 60)
			for most := range len(text) {
				if cut := r.Cut(text, most); len(cut) > most || shows(cut, form) || !utf8.ValidString(cut) &&
					utf8.ValidString(form) {
					t.Fatalf("%q cut at %d: %q", text, most, cut)
				}
			}
			for end := at + 1; end < at+len(form); end++ {
				if cut := r.Cut(text[:end], end-1); shows(cut, form) {
					t.Fatalf("%q, which was cut, cut: %q", text[:end], cut)
				}
			}
			for from := at + 1; from < at+len(form); from++ {
				if rest := r.WithoutCutStart(text[from:]); shows(rest, form) {
					t.Fatalf("%q, whose beginning is gone: %q", text[from:], rest)
				}
			}
		}
	}
	must.Equal(t, "a character was split", r.Cut("aä€", 3), "aä")
	var none *Redactor
	must.Equal(t, "without secrets", none.Cut("aä€", 5)+none.WithoutCutStart("x"), "aäx")
}

// shows reports whether a text contains four characters of a secret.
func shows(text, secret string) bool {
	for i := range len(secret) - 3 {
		if strings.Contains(text, secret[i:i+4]) && !strings.Contains("----"+Mark, secret[i:i+4]) {
			return true
		}
	}
	return false
}

func TestOfProcess(t *testing.T) {
	before := ProcessSecrets().Text("not known so far")
	Know([]string{"known from now on", "abc"})
	Know([]string{"and another one"})
	if before != "not known so far" || ProcessSecrets().Text("known from now on, and another one, abc") != Mark+
		", "+Mark+", abc" {
		t.Errorf("%q, %q", before, ProcessSecrets().Text("known from now on, and another one, abc"))
	}
}
