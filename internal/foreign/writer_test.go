package foreign

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// hostile clears the screen, writes over the line, rings, and turns text around.
const hostile = "a\x1b[2Jb\rc\ad\u202ee\u009bf\x7fg\u2066h\x1b[8mi"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		hostile:                            "a�[2Jb�c�d�e�f�g�h�[8mi",
		"plain\n\ttext 21.5% ≥ µs 語\u00a0": "plain\n\ttext 21.5% ≥ µs 語\u00a0",
		"not \xff\xfe UTF-8":               "not �� UTF-8",
		"":                                 "",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestWriter(t *testing.T) {
	const ours = "\x1b[1;31mError\x1b[0m \x1b[2m│\x1b[m\x1b[90mlocked"
	tests := map[string]struct{ text, want, coloured string }{
		"hostile": {hostile, "a�[2Jb�c�d�e�f�g�h�[8mi", "a�[2Jb�c�d�e�f�g�h�[8mi"},
		"colours": {ours, "�[1;31mError�[0m �[2m│�[m�[90mlocked", ours},
		"black, and a cursor": {
			"\x1b[30mx\x1b[1;8my\x1b[1A\x1b]0;title\a", "�[30mx�[1;8my�[1A�]0;title�",
			"�[30mx�[1;8my�[1A�]0;title�",
		},
		"ends of lines":       {"one\r\ntwo\rthree\r", "one\ntwo�three�", "one\ntwo�three�"},
		"cut":                 {"\x1b[1", "�[1", "�[1"},
		"ASCII as it is":      {"one\n\ttwo ~", "one\n\ttwo ~", "one\n\ttwo ~"},
		"other text as it is": {"≥ 語 ─ █ ½", "≥ 語 ─ █ ½", "≥ 語 ─ █ ½"},
		"bytes that are none": {"\xc3(", "�(", "�("},
	}
	for name, tc := range tests {
		for coloured, want := range map[bool]string{false: tc.want, true: tc.coloured} {
			var out bytes.Buffer
			n, err := Writer{To: &out, Colours: coloured}.Write([]byte(tc.text))
			if n != len(tc.text) || err != nil || out.String() != want {
				t.Errorf("%s, colours %v: wrote %d, %v: %q, want %q", name, coloured, n, err, out.String(), want)
			}
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(hostile)
	f.Add("\U000E0001 beyond the first plane, \u2028")
	f.Fuzz(func(t *testing.T, text string) {
		document, err := json.Marshal(map[string]string{"text": text})
		must.Do(t, err)
		var before, after map[string]string
		safe := JSON(document)
		must.Do(t, json.Unmarshal(document, &before))
		if err := json.Unmarshal(safe, &after); err != nil || before["text"] != after["text"] {
			t.Errorf("%q became %q: %v", document, safe, err)
		}
		if Printable(string(safe)) != string(safe) {
			t.Errorf("%q steers a terminal", safe)
		}
	})
}
