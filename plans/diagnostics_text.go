package plans

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// WriteDiagnostics prints the diagnostics for people: what is wrong, the line
// with carets under the place, and how to mend it, wrapped at width columns (0
// does not wrap).
func (r *Findings) WriteDiagnostics(w io.Writer, width int, color bool) error {
	lines := r.lines()
	shown, more := r.first(maxShown)
	for i, d := range shown {
		var b strings.Builder
		if i > 0 {
			b.WriteByte('\n')
		}
		writeDiagnostic(&b, d, lines, width, color)
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	if more != "" {
		_, err := fmt.Fprintf(w, "\n%s\n", more)
		return err
	}
	return nil
}

func writeDiagnostic(b *strings.Builder, d *hcl.Diagnostic, lines sourceLines, width int, color bool) {
	paint := func(code, s string) string {
		if !color || s == "" {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	tone := "31"
	word := "Error"
	if d.Severity == hcl.DiagWarning {
		tone, word = "33", "Warning"
	}
	fmt.Fprintf(b, "%s %s\n", paint(tone+";1", word+":"), paint("1", d.Summary))
	if s := d.Subject; s != nil {
		fmt.Fprintf(b, "  on %s:%d:%d\n", s.Filename, s.Start.Line, s.Start.Column)
		if text := lineAt(lines.of(s.Filename), s.Start.Line); text != "" {
			number := fmt.Sprintf("%5d", s.Start.Line)
			before, under := caretsFor(text, s)
			text, before, under = clip(text, before, under, width-len(number)-3)
			fmt.Fprintf(b, "%s\n", paint("2", number+" │ ")+text)
			margin := paint("2", strings.Repeat(" ", len(number))+" │ ")
			fmt.Fprintf(b, "%s\n", margin+before+paint(tone+";1", under))
			for _, v := range ValuesOf(d) {
				fmt.Fprintf(b, "%s\n", margin+printable(shorten(v.Name+" is "+v.Value, max(20, width-len(number)-3))))
			}
		}
	}
	for _, line := range wrap(d.Detail, width-2) {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// caretsFor is the white space before the carets, which repeats the tabs of the
// line so that it aligns, and the carets.
func caretsFor(line string, at *hcl.Range) (before, carets string) {
	runes := []rune(line)
	start := min(max(at.Start.Column-1, 0), len(runes))
	end := len(runes)
	if at.End.Line == at.Start.Line {
		end = min(at.End.Column-1, len(runes))
	}
	for _, c := range runes[:start] {
		if c != '\t' {
			c = ' '
		}
		before += string(c)
	}
	return before, strings.Repeat("^", max(1, end-start))
}

// clip keeps a long line to width columns around the place.
func clip(line, before, carets string, width int) (string, string, string) {
	runes := []rune(line)
	if width < 20 || len(runes) <= width {
		return line, before, carets
	}
	start := len([]rune(before))
	from := max(0, min(start-width/3, len(runes)-width))
	to := min(len(runes), from+width)
	line, before = string(runes[from:to]), string([]rune(before)[from:])
	if from > 0 {
		line = "…" + string(runes[from+1:to])
	}
	return line, before, carets[:max(1, min(len(carets), to-start))]
}

// wrap breaks text between words; existing line breaks stay.
func wrap(text string, width int) (lines []string) {
	if text == "" {
		return nil
	}
	for _, paragraph := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		line, columns := "", 0
		for _, word := range strings.Split(paragraph, " ") {
			n := utf8.RuneCountInString(word)
			if width > 10 && columns > 0 && columns+1+n > width {
				lines = append(lines, line)
				line, columns = "", 0
			}
			if columns > 0 {
				line, columns = line+" ", columns+1
			}
			line, columns = line+word, columns+n
		}
		lines = append(lines, line)
	}
	return lines
}

// sourceLines are the lines of each file of a plan, split when asked for.
type sourceLines struct {
	files map[string]*hcl.File
	split map[string][]string
}

func (r *Findings) lines() sourceLines { return sourceLines{r.Files, map[string][]string{}} }

// of are the lines of one file.
func (s sourceLines) of(filename string) []string {
	lines, done := s.split[filename]
	if file := s.files[filename]; file != nil && !done {
		lines = splitLines(file.Bytes)
		s.split[filename] = lines
	}
	return lines
}

// splitLines are the lines of a text without their ends.
func splitLines(src []byte) []string {
	text := bytes.TrimPrefix(src, []byte("\uFEFF"))
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 || len(text) > maxSource {
		return nil // no text, so nothing to show of it
	}
	return strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
}

func lineAt(lines []string, n int) string {
	if n < 1 || n > len(lines) {
		return ""
	}
	return printable(lines[n-1])
}

// printable keeps what a plan contains from driving the terminal.
func printable(line string) string {
	return strings.Map(func(c rune) rune {
		if (c < ' ' && c != '\t') || c == 0x7f || (c >= 0x80 && c < 0xa0) {
			return '�'
		}
		return c
	}, line)
}
