package variant

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestCommandValues(t *testing.T) {
	negative := one(".t")
	negative.Min = -100
	for _, c := range []struct {
		name, format, text string
		metric             Metric
		want               []float64
		wrong              string // part of the error
	}{
		{"one number", FormatJSON, `{"tg": 57.85}`, one(".tg"), []float64{57.85}, ""},
		{
			"trials", FormatJSON, ` {"results":[{"tg":3},{"tg":1},{"tg":2}]} ` + "\n", one(".results[].tg"),
			[]float64{3, 1, 2},
			"",
		},
		{"computed", FormatJSON, `{"tokens": 100, "s": 4}`, one(".tokens / .s"), []float64{25}, ""},
		{"zero", FormatJSON, `{"tg": 0}`, one(".tg"), []float64{0}, ""},
		{
			"large", FormatJSON, `{"tg": 123456789012345678901234567890}`, one(".tg"),
			[]float64{123456789012345678901234567890},
			"",
		},
		{"negative that may be", FormatJSON, `{"t": -3}`, negative, []float64{-3}, ""},
		{"lines", formatJSONL, "{\"tg\":1}\n\n{\"tg\":2}\r\n", one(".[].tg"), []float64{1, 2}, ""},
		{"last line", formatLastLine, "warming up\n{\"tg\": 9}\n\n", one(".tg"), []float64{9}, ""},
		{"text to number", FormatJSON, `{"tg": "12.5"}`, one(".tg | tonumber"), []float64{12.5}, ""},

		{"nothing", FormatJSON, " \n", one(".tg"), nil, "printed nothing"},
		{"prose", FormatJSON, "tg is 57", one(".tg"), nil, "not JSON"},
		{"cut", FormatJSON, `{"tg": 57`, one(".tg"), nil, "ends in the middle"},
		{"two documents", FormatJSON, "{\"tg\":1}\n{\"tg\":2}", one(".tg"), nil, `set format to "jsonl"`},
		{"a log in front", FormatJSON, "loading\n{\"tg\":1}", one(".tg"), nil, "not JSON"},
		{"bad line", formatJSONL, "{\"tg\":1}\nboom\n", one(".[].tg"), nil, "line 2"},
		{"bad last line", formatLastLine, "{\"tg\":1}\nbye", one(".tg"), nil, "last line is not JSON"},
		{"bytes", FormatJSON, "{\"tg\": 1, \"x\": \"\xff\"}", one(".tg"), nil, "not UTF-8"},
		{"Python's NaN", FormatJSON, `{"tg": NaN}`, one(".tg"), nil, "not JSON"},
		{"NaN by jq", FormatJSON, `{"tg": 1}`, one("nan"), nil, "not a finite number"},
		{"infinite by jq", FormatJSON, `{"tg": 1}`, one("infinite"), nil, "not a finite number"},
		{"divided by zero", FormatJSON, `{"tg": 1, "s": 0}`, one(".tg / .s"), nil, "cannot divide"},
		{
			"too large a float", FormatJSON, `{"tg": 1e999}`, one(".tg"), nil,
			"not JSON: the number 1e999 is too large to be read",
		},
		{"too large an integer", FormatJSON, `{}`, one(strings.Repeat("9", 400)), nil, "not a finite number"},
		{"absent", FormatJSON, `{"pp": 1}`, one(".tg"), nil, "gives null"},
		{"empty", FormatJSON, `{"results": []}`, one(".results[].tg"), nil, "gives no value"},
		{"one of many is absent", FormatJSON, `{"results":[{"tg":3},{}]}`, one(".results[].tg"), nil, "gives null"},
		{"text", FormatJSON, `{"tg": "57 tok/s"}`, one(".tg"), nil, "tonumber"},
		{"true", FormatJSON, `{"tg": true}`, one(".tg"), nil, "boolean"},
		{"list", FormatJSON, `{"tg": [1]}`, one(".tg"), nil, "array"},
		{"negative", FormatJSON, `{"tg": -1}`, one(".tg"), nil, "below its min of 0"},
		{"not to be indexed", FormatJSON, `[1]`, one(".tg"), nil, "fails"},
		{"halts", FormatJSON, `{}`, one("halt"), nil, "halts"},
		{"environment", FormatJSON, `{}`, one("$ENV.HOME | length"), nil, "gives"},
		{"too many", FormatJSON, `{}`, one("range(2000000)"), nil, "more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := &Command{Format: c.format, Metrics: []Metric{c.metric}}
			got, err := cmd.Values(t.Context(), []byte(c.text))
			if c.name == "environment" {
				// The length of what is not there is 0: nothing of ours is seen.
				if err != nil || got["command.tg"][0] != 0 {
					t.Fatalf("got %v, %v", got, err)
				}
				return
			}
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || got != nil {
					t.Fatalf("got %v, %v; want an error with %q", got, err, c.wrong)
				}
				return
			}
			if err != nil || !slices.Equal(got["command.tg"], c.want) {
				t.Fatalf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

// An expression that never ends does not hold up more than itself.
func TestEndlessExpressionIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := &Command{Format: FormatJSON, Metrics: []Metric{one("[repeat(1)] | length")}}
	if _, err := cmd.Values(ctx, []byte("{}")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func one(jq string) Metric {
	return Metric{Name: "tg", JQ: jq, Unit: "tok/s", Better: "higher"}
}

func FuzzCommandOutput(f *testing.F) {
	for _, text := range []string{`{"tg": 1}`, "", "\xff", "{}\n{}", `[[[`, `{"tg": 1e308}`, "\n\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range []string{FormatJSON, formatJSONL, formatLastLine} {
			c := &Command{Format: format, Metrics: []Metric{one("..|numbers")}}
			got, err := c.Values(t.Context(), text)
			if err != nil {
				if got != nil || strings.ContainsRune(err.Error(), '\n') && !bytes.ContainsRune(text, '\n') {
					t.Errorf("%q: %v with %v", text, err, got)
				}
				continue
			}
			if len(got["command.tg"]) == 0 {
				t.Errorf("%q: no values and no error", text)
			}
			for _, x := range got["command.tg"] {
				if !(x >= 0) {
					t.Errorf("%q: %v", text, x)
				}
			}
		}
	})
}

func TestOutputIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	must.Do(t, err)
	defer f.Close()
	for _, c := range []struct {
		size int64
		ok   bool
	}{{0, true}, {MaxOutput, true}, {MaxOutput + 1, false}} {
		must.Do(t, f.Truncate(c.size)) // a file with a hole takes no room
		text, err := ReadOutput(path)
		if (err == nil) != c.ok || c.ok && int64(len(text)) != c.size {
			t.Errorf("%d bytes: %d, %v", c.size, len(text), err)
		}
	}
}
