package foreign

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/redact"
)

func TestLine(t *testing.T) {
	if got := Line("a\nb\tc\x1b[2J"); got != "a b c\ufffd[2J" {
		t.Errorf("%q", got)
	}
}

func TestQuote(t *testing.T) {
	if got := Quote("a\x1b\n"); got != `"a\x1b\n"` {
		t.Error(got)
	}
	if got := Quote([]byte(strings.Repeat("é", 400))); !strings.HasSuffix(got, `é"… (800 bytes)`) || len(got) > 220 {
		t.Error(got)
	}
}

func TestBuffers(t *testing.T) {
	redact.Know([]string{"0123456789"})
	defer redact.Forget()
	head, tail := Head{Limit: 4}, Tail{Limit: 9}
	for _, text := range []string{"ab", "cd", "0123456789", " end"} {
		fmt.Fprint(&head, text)
		fmt.Fprint(&tail, text)
	}
	if text, over := head.Bytes(); string(text) != "abcd" || !over {
		t.Errorf("%q, %v", text, over)
	}
	if got := tail.String(); got != redact.Mark+" end" && got != "end" {
		t.Errorf("%q", got)
	}
}

// TestNotJSON: what is wrong with a text is said in its own words, and never in those of a parser.
func TestNotJSON(t *testing.T) {
	type row struct {
		Text  string
		Count int
	}
	for text, want := range map[string]string{
		`hello`:                  `unexpected from byte 1 on: "hello"`,
		"{\"Text\": \"a\"}\nx y": `unexpected from byte 15 on: "x y"`,
		`{"Text" "a"}`:           `unexpected from byte 9 on: "\"a\"}"`,
		`{"Text": "a`:            "it ends in the middle of a value: it is truncated, or still being written",
		``:                       "it ends in the middle of a value: it is truncated, or still being written",
		`{"Count": "two"}`:       "Count is of another type: string",
		`[1]`:                    "it is of another type: array",
	} {
		var r row
		if got := NotJSON([]byte(text), json.Unmarshal([]byte(text), &r)); got.Error() != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	d := json.NewDecoder(strings.NewReader(`{"other": 1}`))
	d.DisallowUnknownFields()
	if got := NotJSON(nil, d.Decode(&row{})); got.Error() != `unknown field "other"` {
		t.Errorf("%q", got)
	}
	if _, err := regexp.Compile(strings.Repeat("(", 1) + "a"); NotPattern(err).Error() != `missing closing ): "(a"` {
		t.Errorf("%q", NotPattern(err))
	}
}
