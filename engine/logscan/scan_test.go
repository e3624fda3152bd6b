package logscan

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// scanReference is the meaning of a scan of a whole log in memory.
func scanReference(t *testing.T, log []byte, globs, exprs []string) (map[string]Match, Extract) {
	t.Helper()
	seen := map[string]Match{}
	var found Extract
	for i, line := range bytes.Split(log, []byte{'\n'}) {
		for drawn := range bytes.SplitSeq(line[:min(len(line), maxScanLine)], []byte{'\r'}) {
			if len(drawn) == 0 {
				continue
			}
			plain := foreign.StripANSI(nil, drawn)
			for _, text := range globs {
				g, err := ParseGlob(text)
				must.Do(t, err)
				if !g.matchLower(bytes.ToLower(plain)) {
					continue
				}
				m := seen[text]
				if m.Count++; m.Count == 1 {
					m.FirstLine, m.LineNo = foreign.Clean(plain), i+1
					m.UsedLine, m.UsedNo = m.FirstLine, m.LineNo
				}
				m.Used = m.Count
				seen[text] = m
			}
			for _, text := range exprs {
				re := regexp.MustCompile(text)
				at := re.FindSubmatch(plain)
				if at == nil {
					continue
				}
				group := re.SubexpIndex("value")
				if group < 0 {
					group = min(1, re.NumSubexp())
				}
				found = Extract{
					Count: found.Count + 1, Line: foreign.CleanTo(plain, foreign.WorkLimit), LineNo: i + 1,
					Grouped: group > 0,
				}
				if group > 0 && at[group] != nil {
					found.Value = foreign.Clean(at[group])
				}
				break
			}
		}
	}
	return seen, found
}

func scanBoth(t *testing.T, log []byte, globs, exprs []string) {
	t.Helper()
	s, err := New(globs)
	if err != nil {
		return // a glob without text
	}
	n, err := s.Add(Expressions{Any: exprs})
	if err != nil {
		return
	}
	must.Do(t, s.Read(iotest.HalfReader(bytes.NewReader(log))))
	seen, found := scanReference(t, log, globs, exprs)
	if got := s.Matches(); !reflect.DeepEqual(got, seen) {
		t.Errorf("globs %q on %q:\ngot  %+v\nwant %+v", globs, log, got, seen)
	}
	// The line is cut around the value; the reference has all of it.
	got := s.LastMatch(n)
	cut := strings.TrimSuffix(strings.TrimPrefix(got.Line, "…"), "…")
	if got.Whole && got.Line != found.Line || !strings.Contains(found.Line, cut) || len(got.Line) > foreign.LineLimit ||
		got.At < 0 || got.At > got.To || got.To > len(got.Line) {
		t.Errorf("expressions %q on %q:\ngot  %+v\nwant the line %q", exprs, log, got, found.Line)
	}
	if got.Line, got.At, got.To, got.Whole = found.Line, 0, 0, false; !reflect.DeepEqual(got, found) {
		t.Errorf("expressions %q on %q:\ngot  %+v\nwant %+v", exprs, log, got, found)
	}
}

// What is kept of a long line is the surroundings of the value.
func TestFoundInALongLine(t *testing.T) {
	s, err := New(nil)
	must.Do(t, err)
	n, err := s.Add(Expressions{Any: []string{`config:.* dtype=(\w+)`}})
	must.Do(t, err)
	long := strings.Repeat("ä=1 ", 400)
	for _, line := range []string{
		"config: dtype=half", "config: " + long + "dtype=half", "config: dtype=half " + long,
		"config: " + long + " dtype=half " + long,
		"config: " + long + "dtype=half" + strings.Repeat("f", 400),
	} {
		must.Do(t, s.Read(strings.NewReader(line+"\n")))
		f := s.LastMatch(n)
		if len(f.Line) > foreign.LineLimit || !utf8.ValidString(f.Line) || f.Whole != (len(line) < foreign.LineLimit) ||
			!strings.HasPrefix(f.Line[f.At:f.To], "half") || !strings.HasSuffix(f.Line[:f.At], " dtype=") {
			t.Errorf("%d bytes: %+v", len(line), f)
		}
	}
}

// A scan of a stream sees what a search of each line sees: case, escapes, redraws, bytes
// that are not text, letters outside ASCII that fold into it.
var scanCases = []struct {
	log, glob, expr string
}{
	{"INFO Using FLASH_ATTN attention backend\n", "using*BACKEND", `Using (\w+) attention`},
	{"\x1b[0;36mUsing \x1b[1mMarlin\x1b[0m backend\r\nx", "using marlin", `Using (?P<value>\w+) backend|(\d+)`},
	{"10%\r50%\r100% done\n", "% done", `^(\d+)%`},
	{"\u212aelvin mar\u017ein\n", "kelvin", `(?i)kelvin`},
	{"u\u017fing marlin\n", "using", `(?i)using (\w+)`},
	{"caf\xe9 Using Marlin\n", "caf*using", `Using (.*)`},
	{"ÉCOLE grün backend\n", "école*Grün", `gr.n (backend)`},
	{"abcabcabd\n", "abcabd", `(?:abc)+abd|zzz`},
	{"fallback\nGEMV\n", "zzz\ngemv\nFall*", `x`},
	{"hers she his\n", "she*his", `hers|his|(she)`},
	{"a\x1b[31", "a", `[[:alpha:]]`},
	{"\x1b[31m\n\n\r\r\n", "m", `^$`},
	{"12 tokens\n7 tokens", "tokens", `(\d+) tokens`},
	{"\x00\x01 İstanbul\n", "istanbul", `(?i)İSTANBUL|x{0}y?`},
}

func TestScanSeesWhatTheReferenceSees(t *testing.T) {
	var globs, exprs []string
	for _, c := range scanCases {
		globs, exprs = append(globs, c.glob), append(exprs, c.expr)
	}
	for _, c := range scanCases {
		scanBoth(t, []byte(c.log), []string{c.glob}, []string{c.expr})
		scanBoth(t, []byte(c.log), globs, exprs)
	}
}

// TestUses: a use is shown by the first match after the given line, or by an earlier one
// that a chosen expression matches.
func TestUses(t *testing.T) {
	log := "config: Marlin (requested)\nUsing Marlin backend\nready\nMarlin ran\nMarlin ran again\n"
	for _, c := range []struct {
		name   string
		after  int
		chosen []string
		want   Match
	}{
		{"all count", 0, nil, Match{UsedLine: "config: Marlin (requested)", UsedNo: 1, Used: 4}},
		{"behind the line", 3, nil, Match{UsedLine: "Marlin ran", UsedNo: 4, Used: 2}},
		{
			"a choice before it", 3,
			[]string{`Using \w+ backend$`},
			Match{UsedLine: "Using Marlin backend", UsedNo: 2, Used: 3, Chosen: true},
		},
		{"a choice that is none", 3, []string{`requests`}, Match{UsedLine: "Marlin ran", UsedNo: 4, Used: 2}},
		{"nothing behind it", 5, nil, Match{}},
	} {
		s, err := New([]string{"marlin"})
		must.Do(t, err)
		must.Do(t, s.Uses(c.after, c.chosen))
		if err := s.Read(strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		c.want.Count, c.want.FirstLine, c.want.LineNo = 4, "config: Marlin (requested)", 1
		if got := s.Matches()["marlin"]; got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	if s, err := New(nil); err != nil || s.Uses(0, []string{"("}) == nil {
		t.Error("an expression that is none was taken")
	}
}

func FuzzLogScan(f *testing.F) {
	for _, c := range scanCases {
		f.Add([]byte(c.log), c.glob, c.expr)
	}
	f.Fuzz(func(t *testing.T, log []byte, glob, expr string) {
		if len(log) > 4096 || len(expr) > 64 {
			return
		}
		if strings.Contains(expr, "{") && strings.ContainsAny(expr, "0123456789") && len(expr) > 32 {
			return // nested repetitions take long to compile
		}
		if strings.Trim(glob, "*") == "" || strings.ContainsAny(glob, "\r\n") {
			glob = "using"
		}
		scanBoth(t, log, []string{glob, "backend", "a*b"}, []string{expr, `Using (\w+)`})
	})
}

// Matches outlive the cut, and the cut after that: the first and the last line of each pattern.
func TestEvidenceOutlivesTheCut(t *testing.T) {
	evidence := Evidence{Globs: []string{"marlin", "*", "never"}, Expressions: []string{`tactic (\d+)`, `(`}}
	log, err := Open(filepath.Join(t.TempDir(), "engine.log"), 8192, evidence)
	must.Do(t, err)
	defer log.Close()
	write := func(text string) {
		if _, err := log.Out.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	noise := strings.Repeat("a line of the log, as engines write them\n", 150)
	write(noise + "\x1b[1mUsing MARLIN\x1b[0m kernels\n")
	for i := range 9 {
		write(fmt.Sprintf("autotuner chose tactic %d\n", i))
	}
	write(noise)
	for range 2 {
		log.Bound()
		write(noise)
		log.Bound()
		s, err := New([]string{"marlin", "never"})
		must.Do(t, err)
		n, err := s.Add(Expressions{Any: evidence.Expressions[:1]})
		must.Do(t, err)
		must.Do(t, s.File(log.Path))
		if !s.Cut() || !s.HasEvidence() || s.Matches()["marlin"].FirstLine != "Using MARLIN kernels" ||
			len(s.Matches()) != 1 {
			t.Errorf("cut %v, evidence %v, seen %+v", s.Cut(), s.HasEvidence(), s.Matches())
		}
		if f := s.LastMatch(n); f.Value != "8" || f.Count != 2 {
			t.Errorf("found %+v", f)
		}
	}
	if info, err := log.Out.Stat(); err != nil || info.Size() > 8192 {
		t.Errorf("the log has %d bytes: %v", info.Size(), err)
	}
	if k := newLineKeeper(Evidence{}); k != nil || k.read(nil) != nil || k.lines() != nil {
		t.Error("there is nothing to keep")
	}
}
