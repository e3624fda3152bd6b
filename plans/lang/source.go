package lang

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mxflow/mxflow/plans/yamlbody"
)

type Texts struct {
	Named string
	// Sources are the files by name, Order their names in the order in which they were
	// read.
	Sources map[string]*Source
	Order   []string
}

// Start is where a mistake of the whole plan is reported.
func (l *Texts) Start() hcl.Range {
	if len(l.Order) > 0 {
		return StartOf(l.Order[0])
	}
	return StartOf(l.Named)
}

// TextAt is the text of the plan from where a range begins.
func (l *Texts) TextAt(at hcl.Range) []byte {
	s := l.Sources[at.Filename]
	if s == nil || at.Start.Byte >= len(s.Text) {
		return nil
	}
	return s.Text[at.Start.Byte:]
}

func (l *Texts) Files() map[string]*hcl.File {
	files := map[string]*hcl.File{}
	for name, s := range l.Sources {
		files[name] = &hcl.File{Body: s.Body, Bytes: s.Text, Nav: s.nav}
	}
	return files
}

// maxSource is the largest plan file, in bytes.
const maxSource = 1 << 20

type Source struct {
	Name string
	Text []byte
	Body hcl.Body
	// From is where the file is included; nil for a file that the user named.
	From *hcl.Range
	// nav tells HCL's writer in which block a place is.
	nav any
}

// Parse reads one file in the syntax that its name implies.
func Parse(name string, text []byte) (*Source, hcl.Diagnostics) {
	s := &Source{Name: name, Text: text}
	check := CheckSource
	if IsYAML(name) {
		check = checkText
		s.Text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	}
	var diags hcl.Diagnostics
	if diag := check("plan", name, text); diag != nil {
		diags = hcl.Diagnostics{diag}
	} else if IsYAML(name) {
		var root *yamlbody.Node
		if root, diags = yamlbody.Parse(s.Text, name, checkNesting); root != nil {
			s.Body, s.nav = root.File()
		}
	} else {
		var file *hcl.File
		file, diags = hclsyntax.ParseConfig(text, name, hcl.InitialPos)
		s.Body, s.nav = file.Body, file.Nav
		if body, ok := file.Body.(*hclsyntax.Body); ok {
			padded(body)
		}
		for _, d := range diags {
			s.reword(d)
		}
	}
	if BrokenSyntax(diags) {
		if other := OtherSyntax(name, s.Text); other != nil {
			return s, hcl.Diagnostics{other}
		}
	}
	return s, diags
}

// reword rewords findings of the HCL parser for cases in which people meant something
// other than it assumes.
func (s *Source) reword(d *hcl.Diagnostic) {
	if d.Subject == nil {
		return
	}
	from := bytes.LastIndexByte(s.Text[:d.Subject.Start.Byte], '\n') + 1
	line, _, _ := bytes.Cut(s.Text[from:], []byte("\n"))
	if at := d.Subject.Start.Byte; at > from && s.Text[at-1] == '"' && at < len(s.Text) &&
		letter.Match(s.Text[at:at+1]) {
		if m := quotesWithin.FindSubmatch(line); m != nil && bytes.Contains(m[1], []byte(`"`)) {
			*d = hcl.Diagnostic{
				Severity: d.Severity, Subject: d.Subject, Context: d.Context, Extra: Coded("invalid-syntax"),
				Summary: "Quotes within quotes",
				Detail: fmt.Sprintf(`The quote before %s ends the text. Use single quotes inside: "%s".`,
					s.Text[d.Subject.Start.Byte:d.Subject.End.Byte], bytes.ReplaceAll(m[1], []byte(`"`), []byte("'"))),
			}
			return
		}
	}
	// HCL's parser has no codes, and only its wording distinguishes this.
	if strings.Contains(d.Detail, "ingle-line block") {
		d.Extra, d.Summary = Coded("invalid-syntax"), "Too much on one line"
		d.Detail = "A one-line block may have one attribute and no block. Put each attribute, each block and the " +
			"closing brace on its own line."
	}
}

var letter = regexp.MustCompile(`\w`)

// quotesWithin is a text from its first quote on a line to its last.
var quotesWithin = regexp.MustCompile(`=\s*"(.*)"`)

func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// codeFor is the code of a mistake about a file as such, by what it is: "plan" or "variables".
func codeFor(what, mistake string) Coded {
	if what == "variables" {
		return "variables-file"
	}
	return Coded("plan-" + mistake)
}

// ReadSource reads a file, with a message that tells what to do about whatever is in its
// place. what is "plan" or "variables".
func ReadSource(path, what string) ([]byte, *hcl.Diagnostic) {
	bad := func(mistake, title, format string, args ...any) ([]byte, *hcl.Diagnostic) {
		return nil, problem(StartOf(path), string(codeFor(what, mistake)), title, fmt.Sprintf(format, args...))
	}
	title := strings.ToUpper(what[:1]) + what[1:]
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad("not-found", title+" file not found",
			"File %q does not exist. Check the path and the current folder.", path)
	case err == nil && info.IsDir():
		return bad("unreadable", title+" file is a folder", "%q is a folder. Name a file in it.", path)
	}
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		var src []byte
		if src, err = io.ReadAll(io.LimitReader(file, maxSource+1)); err == nil {
			return src, nil
		}
	}
	return bad("unreadable", "Cannot read "+what+" file", "%v", err)
}

// CheckSource refuses text that must not reach the parser; what is as in ReadSource. A
// UTF-8 byte order mark is fine: the parser skips it.
func CheckSource(what, filename string, src []byte) *hcl.Diagnostic {
	if diag := checkText(what, filename, src); diag != nil {
		return diag
	}
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	return checkNesting(tokens)
}

// Beginning is what a plan file of that name starts with.
func Beginning(filename string) string {
	if IsYAML(filename) {
		return "plan: {name: {summary: what it is for}}"
	}
	return `plan "name" { summary = "what it is for" }`
}

// checkText refuses what none of our syntaxes reads: files that are too large, empty or
// not text.
func checkText(what, filename string, src []byte) *hcl.Diagnostic {
	title := map[string]string{"plan": "Plan", "variables": "Variables file"}[what]
	bad := func(at hcl.Range, mistake, is, detail string) *hcl.Diagnostic {
		return problem(at, string(codeFor(what, mistake)), title+is, detail)
	}
	start := StartOf(filename)
	switch {
	case len(src) > maxSource:
		return bad(start, "too-large", " is too large",
			"A file may have up to 1 MiB. Move data out of it, or split it.")
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}), bytes.HasPrefix(src, []byte{0xfe, 0xff}):
		return bad(start, "not-text", " is not UTF-8", "The file looks like UTF-16. Save it as UTF-8.")
	case len(bytes.TrimSpace(bytes.TrimPrefix(src, []byte("\uFEFF")))) == 0:
		return bad(start, "empty", " is empty", "The file is empty. A plan starts with: "+Beginning(filename)+".")
	}
	for i, c := range string(src) {
		invalid := c == utf8.RuneError && !bytes.HasPrefix(src[i:], []byte("\uFFFD"))
		if !invalid && (c >= ' ' && c != 0x7f || c == '\t' || c == '\r' || c == '\n') {
			continue
		}
		from := bytes.LastIndexByte(src[:i], '\n') + 1
		pos := hcl.Pos{Line: 1 + bytes.Count(src[:i], []byte("\n")), Column: 1 + utf8.RuneCount(src[from:i]), Byte: i}
		at := hcl.Range{
			Filename: filename, Start: pos,
			End: hcl.Pos{Line: pos.Line, Column: pos.Column + 1, Byte: i + 1},
		}
		if invalid {
			return bad(at, "not-text", " is not UTF-8",
				fmt.Sprintf("Byte 0x%02x is not valid UTF-8. Save the file as UTF-8.", src[i]))
		}
		return bad(at, "not-text", " has a control character",
			fmt.Sprintf(`Invisible character U+%04X. Remove it; in a string, write it as "\u%04x".`, c, c))
	}
	return nil
}

func problem(at hcl.Range, code, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Extra: Coded(code), Summary: summary, Detail: detail, Subject: &at}
}

var (
	yamlBegins = regexp.MustCompile(`^(---|[A-Za-z_][A-Za-z0-9_-]*:(\s|$))`)
	hclBegins  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\s+("[^"]*"|[A-Za-z0-9_-]+))*\s*(\{|=)`)
)

// OtherSyntax reports that a file that cannot be read is in the other syntax than its
// name implies; nil if it is not. Each line of such a file is an error, and none of these
// says so.
func OtherSyntax(name string, text []byte) *hcl.Diagnostic {
	before := leadingComments.Find(text)
	line, _, _ := bytes.Cut(text[len(before):], []byte("\n"))
	first, number := strings.TrimRight(string(line), " \t\r"), 1+bytes.Count(before, []byte("\n"))
	is, says, end := "YAML", "HCL", ".yaml"
	begins := yamlBegins
	if IsYAML(name) {
		is, says, end, begins = "HCL", "YAML", ".hcl", hclBegins
	}
	if !begins.MatchString(first) {
		return nil
	}
	base := filepath.Base(name)
	base = strings.TrimSuffix(base, filepath.Ext(base)) + end
	at := hcl.Range{Filename: name, Start: hcl.Pos{Line: number, Column: 1, Byte: len(before)}}
	at.End = hcl.Pos{Line: number, Column: 1 + len([]rune(first)), Byte: len(before) + len(first)}
	return problem(at, "other-syntax", is+" in a file named as "+says,
		fmt.Sprintf("The content is %s, but the file name says %s. Rename it to %s.", is, says, base))
}

// leadingComments matches what is before the first line of content, in either syntax.
var leadingComments = regexp.MustCompile(`^(\x{FEFF}|\s*\n|\s*#.*\n|\s*//.*\n|\s*/\*(?s:.*?)\*/)*`)

// IsYAML reports whether a plan file is YAML, by its name.
func IsYAML(filename string) bool {
	ext := strings.ToLower(filepath.Ext(filename))
	return ext == ".yaml" || ext == ".yml"
}

// BrokenSyntax reports whether there is an error other than an attribute that is set
// twice, which the parser reports as well but which hides nothing else.
func BrokenSyntax(diags hcl.Diagnostics) bool {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && CodeOf(d) != "attribute-twice" {
			return true
		}
	}
	return false
}

// IsSource reports whether a file is in the language of plans, by its name.
func IsSource(name string) bool { return strings.EqualFold(filepath.Ext(name), ".hcl") || IsYAML(name) }

// FolderOf is the folder of a plan, which may be a folder itself.
func FolderOf(plan string) string {
	if IsFolder(plan) {
		return plan
	}
	return filepath.Dir(plan)
}

// Reason is an error without the path, which the message already names.
func Reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
