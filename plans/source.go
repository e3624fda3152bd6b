package plans

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// maxSource is the largest plan file, in bytes.
	maxSource = 1 << 20
	// maxLine is the longest line: more is no text that a person wrote, and
	// each diagnostic would print it.
	maxLine = 16 << 10
)

// source is one file of a plan.
type source struct {
	name string
	text []byte
	body hcl.Body
	// loops are the offsets of the for expressions in the text.
	loops []int
	// dynamic: the file can hold blocks that are generated inside others.
	// Looking for the word spares all other files the work of finding out.
	dynamic bool
	// from is where the file is included; nil for what was named by the user.
	from *hcl.Range
}

// parse reads one file in the syntax that its name says.
func parse(name string, text []byte) (*source, hcl.Diagnostics) {
	s := &source{name: name, text: text, dynamic: bytes.Contains(text, []byte("dynamic"))}
	diags := s.parse()
	if brokenSyntax(diags) {
		if other := otherSyntax(name, s.text); other != nil {
			return s, hcl.Diagnostics{other}
		}
	}
	return s, diags
}

func (s *source) parse() hcl.Diagnostics {
	if IsYAML(s.name) {
		return s.parseYAML()
	}
	loops, diag := checkSource(s.name, s.text)
	if diag != nil {
		return hcl.Diagnostics{diag}
	}
	file, diags := hclsyntax.ParseConfig(s.text, s.name, hcl.InitialPos)
	s.body, s.loops = file.Body, loops
	return diags
}

// isPlanFile reports whether a folder's file is a part of the plan.
func isPlanFile(name string) bool {
	return (strings.EqualFold(filepath.Ext(name), ".hcl") || IsYAML(name)) && !IsCaseFile(name)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readSource reads a file, with a message that says what to do about whatever
// stands in its place. what is "plan" or "variables".
func readSource(path, what string) ([]byte, *hcl.Diagnostic) {
	bad := func(summary, format string, args ...any) ([]byte, *hcl.Diagnostic) {
		return nil, sourceError(path, startOf(path), summary, fmt.Sprintf(format, args...))
	}
	title := strings.ToUpper(what[:1]) + what[1:]
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad(title+" file not found", "There is no file %q. Check the path and the folder you are in.", path)
	case err != nil:
		return bad("Cannot read "+what+" file", "%v", err)
	case info.IsDir():
		return bad(title+" file is a folder", "%q is a folder. Name a file in it.", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return bad("Cannot read "+what+" file", "%v", err)
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, maxSource+1))
	if err != nil {
		return bad("Cannot read "+what+" file", "%v", err)
	}
	return src, nil
}

// checkSource refuses text that must not reach the parser, and returns the
// offsets of its loops (see checkNesting). A UTF-8 byte order mark is fine: the
// parser skips it.
func checkSource(filename string, src []byte) (loops []int, diag *hcl.Diagnostic) {
	if diag := checkText(filename, src); diag != nil {
		return nil, diag
	}
	return checkNesting(filename, src)
}

// checkText refuses what no syntax of ours reads: files that are too large,
// empty or no text.
func checkText(filename string, src []byte) *hcl.Diagnostic {
	bad := func(at hcl.Range, summary, detail string) *hcl.Diagnostic {
		return sourceError(filename, at, summary, detail)
	}
	start := startOf(filename)
	switch {
	case len(src) > maxSource:
		return bad(start, "Plan file too large", "A plan file has up to 1 MiB. Move data out of the plan, or split the effort into several plans.")
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}), bytes.HasPrefix(src, []byte{0xfe, 0xff}):
		return bad(start, "Plan is not UTF-8", "The file looks like UTF-16. Save it as UTF-8.")
	case len(bytes.TrimSpace(bytes.TrimPrefix(src, []byte("\uFEFF")))) == 0:
		return bad(start, "Plan is empty", `There is nothing in the file. A plan starts with: plan "name" { summary = "what it is for" }.`)
	}
	line, lineStart := 1, 0
	for i := 0; i < len(src); {
		c, size := rune(src[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(src[i:])
		}
		at := func() hcl.Range {
			pos := hcl.Pos{Line: line, Column: utf8.RuneCount(src[lineStart:i]) + 1, Byte: i}
			end := hcl.Pos{Line: line, Column: pos.Column + 1, Byte: i + 1}
			return hcl.Range{Filename: filename, Start: pos, End: end}
		}
		switch {
		case c == '\n':
			line, lineStart = line+1, i+1
		case c == utf8.RuneError && size == 1:
			return bad(at(), "Plan is not UTF-8", fmt.Sprintf("Byte 0x%02x is no part of a UTF-8 character. Save the file as UTF-8.", src[i]))
		case (c < ' ' && c != '\t' && c != '\r') || c == 0x7f:
			return bad(at(), "Control character in plan", fmt.Sprintf(`The character U+%04X cannot be seen and does not belong here. Remove it; in a string, write it as "\u%04x".`, c, c))
		case i-lineStart == maxLine:
			return bad(at(), "Line too long", fmt.Sprintf("A line has up to %d bytes. Break it up.", maxLine))
		}
		i += size
	}
	return nil
}

func sourceError(filename string, at hcl.Range, summary, detail string) *hcl.Diagnostic {
	at.Filename = filename
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
}
