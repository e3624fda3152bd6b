package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestWindows(t *testing.T) {
	zero := time.Now()
	second := func(from, to time.Duration) measure.Window {
		return measure.Window{From: from * time.Second, To: to * time.Second}
	}
	for _, c := range []struct {
		name string
		// text is what the log grows by, a second after the other from 2 s on; a ! takes
		// the log away first.
		text  []string
		want  []measure.Window
		wrong string
	}{
		{"nothing", nil, []measure.Window{second(1, 9)}, ""},
		{"other lines", []string{"loading\n", "mxflow: beginning\n", "the end\n"}, []measure.Window{second(1, 9)}, ""},
		{"one", []string{"loading\nmxflow: begin\n", "step 1\n", "mxflow: end\ndone\n"}, []measure.Window{second(2, 4)}, ""},
		{"behind a logger's words, in pieces, with CR", []string{"12:00 INFO mxflow: be", "gin\r\n", "", "12:01 INFO mxflow: end\r\n"}, []measure.Window{second(3, 5)}, ""},
		{"two trials", []string{"mxflow: begin\n", "mxflow: end\n", "mxflow: begin\n", "mxflow: end\n"}, []measure.Window{second(2, 3), second(4, 5)}, ""},
		{"a long line", []string{strings.Repeat("x", 1<<20) + "mxflow: begin\n", "mxflow: end\n"}, []measure.Window{second(2, 3)}, ""},
		{"no begin", []string{"loading\nmxflow: end\n"}, nil, `line 2 of its log is "mxflow: end", and no "mxflow: begin" came before it`},
		{"no end", []string{"mxflow: begin\n"}, nil, `its log has "mxflow: begin" and no "mxflow: end" after it`},
		{"two begins", []string{"mxflow: begin\n", "mxflow: begin\n"}, nil, `line 2 of its log is a second "mxflow: begin"`},
		{"buffered", []string{"mxflow: begin\nmxflow: end\n"}, nil, `came together with its "mxflow: begin"; flush standard error`},
		{"a log that was cut", []string{"mxflow: begin\n", "mxflow: end\n", "!"}, nil, ""},
	} {
		w := &windows{path: filepath.Join(t.TempDir(), "log"), zero: zero, started: zero.Add(time.Second)}
		var err error
		for i, text := range c.text {
			if after, cut := strings.CutPrefix(text, "!"); cut {
				_, text = os.Truncate(w.path, 0), after
			}
			f, opened := os.OpenFile(w.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if opened != nil {
				t.Fatal(opened)
			}
			_, _ = f.WriteString(text)
			_ = f.Close()
			if err = w.look(zero.Add(time.Duration(2+i) * time.Second)); err != nil {
				break
			}
		}
		var got []measure.Window
		if err == nil {
			got, err = w.all(zero.Add(9 * time.Second))
		}
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v, %q", c.name, got, err, c.want, c.wrong)
		}
	}
}
