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

// Texts are the files of a plan.
type Texts struct {
	// Named is the path as given.
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
		files[name] = &hcl.File{Body: s.Body, Bytes: s.Text}
	}
	return files
}

// MaxSource is the largest plan file, in bytes.
const MaxSource = 1 << 20

// Source is one file of a plan.
type Source struct {
	Name string
	Text []byte
	Body hcl.Body
	// From is where the file is included; nil for a file that the user named.
	From *hcl.Range
}

// Parse reads one file in the syntax that its name implies.
func Parse(name string, text []byte) (*Source, hcl.Diagnostics) {
	s := &Source{Name: name, Text: text}
	diags := s.parse()
	if BrokenSyntax(diags) {
		if other := OtherSyntax(name, s.Text); other != nil {
			return s, hcl.Diagnostics{other}
		}
	}
	return s, diags
}

func (s *Source) parse() hcl.Diagnostics {
	if IsYAML(s.Name) {
		return s.parseYAML()
	}
	if diag := CheckSource(s.Name, s.Text); diag != nil {
		return hcl.Diagnostics{diag}
	}
	file, diags := hclsyntax.ParseConfig(s.Text, s.Name, hcl.InitialPos)
	s.Body = file.Body
	if body, ok := file.Body.(*hclsyntax.Body); ok {
		padded(body)
	}
	for _, d := range diags {
		s.clearer(d)
	}
	return diags
}

// clearer rewords findings of the HCL parser for cases in which people meant something
// other than it assumes.
func (s *Source) clearer(d *hcl.Diagnostic) {
	if d.Subject == nil {
		return
	}
	from := bytes.LastIndexByte(s.Text[:d.Subject.Start.Byte], '\n') + 1
	line, _, _ := bytes.Cut(s.Text[from:], []byte("\n"))
	if at := d.Subject.Start.Byte; at > from && s.Text[at-1] == '"' && at < len(s.Text) && letter.Match(s.Text[at:at+1]) {
		if m := quotesWithin.FindSubmatch(line); m != nil && bytes.Contains(m[1], []byte(`"`)) {
			*d = hcl.Diagnostic{
				Severity: d.Severity, Subject: d.Subject, Context: d.Context, Extra: Coded("invalid-syntax"), Summary: "Quotes within quotes",
				Detail: fmt.Sprintf(`The quote before %s ends the text. Use single quotes inside: "%s".`, s.Text[d.Subject.Start.Byte:d.Subject.End.Byte], bytes.ReplaceAll(m[1], []byte(`"`), []byte("'"))),
			}
			return
		}
	}
	// HCL's parser has no codes, and only its wording distinguishes this.
	if strings.Contains(d.Detail, "ingle-line block") {
		d.Extra, d.Summary = Coded("invalid-syntax"), "Too much on one line"
		d.Detail = "A one-line block may have one attribute and no block. Put each attribute, each block and the closing brace on its own line."
	}
}

var letter = regexp.MustCompile(`\w`)

// quotesWithin is a text from its first quote on a line to its last.
var quotesWithin = regexp.MustCompile(`=\s*"(.*)"`)

func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// fileCodesOf are the codes of a file that does not exist, or cannot be read, by its
// role.
var fileCodesOf = map[string]struct{ missing, unreadable string }{
	"plan": {"plan-not-found", "plan-unreadable"}, "variables": {"variables-file", "variables-file"}, "case": {"case-file-unreadable", "case-file-unreadable"},
}

// ReadSource reads a file, with a message that tells what to do about whatever is in its
// place. what is "plan", "variables" or "case".
func ReadSource(path, what string) ([]byte, *hcl.Diagnostic) {
	bad := func(code, summary, format string, args ...any) ([]byte, *hcl.Diagnostic) {
		return nil, problem(StartOf(path), code, summary, fmt.Sprintf(format, args...))
	}
	codes := fileCodesOf[what]
	title := strings.ToUpper(what[:1]) + what[1:]
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad(codes.missing, title+" file not found", "File %q does not exist. Check the path and the current folder.", path)
	case err != nil:
		return bad(codes.unreadable, "Cannot read "+what+" file", "%v", err)
	case info.IsDir():
		return bad(codes.unreadable, title+" file is a folder", "%q is a folder. Name a file in it.", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return bad(codes.unreadable, "Cannot read "+what+" file", "%v", err)
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, MaxSource+1))
	if err != nil {
		return bad(codes.unreadable, "Cannot read "+what+" file", "%v", err)
	}
	return src, nil
}

// CheckSource refuses text that must not reach the parser. A UTF-8 byte order
// mark is fine: the parser skips it.
func CheckSource(filename string, src []byte) *hcl.Diagnostic {
	return planText.check(filename, src)
}

// CheckVariables is CheckSource for a file of variables.
func CheckVariables(filename string, src []byte) *hcl.Diagnostic {
	return variablesText.check(filename, src)
}

// textKind is how messages name a text, with the codes of its mistakes.
type textKind struct{ title, bound, tooLarge, notText, empty string }

var (
	planText      = textKind{"Plan", "A plan file may have up to 1 MiB. Move data out of the plan, or split it into several plans.", "plan-too-large", "plan-not-text", "plan-empty"}
	variablesText = textKind{"Variables file", "A variable file may have up to 1 MiB. Split it into several.", "variables-file", "variables-file", "variables-file"}
)

func (k textKind) check(filename string, src []byte) *hcl.Diagnostic {
	if diag := k.checkText(filename, src); diag != nil {
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
func (k textKind) checkText(filename string, src []byte) *hcl.Diagnostic {
	start := StartOf(filename)
	switch {
	case len(src) > MaxSource:
		return problem(start, k.tooLarge, strings.TrimSuffix(k.title, " file")+" file too large", k.bound)
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}), bytes.HasPrefix(src, []byte{0xfe, 0xff}):
		return problem(start, k.notText, k.title+" is not UTF-8", "The file looks like UTF-16. Save it as UTF-8.")
	case len(bytes.TrimSpace(bytes.TrimPrefix(src, []byte("\uFEFF")))) == 0:
		return problem(start, k.empty, k.title+" is empty", "The file is empty. A plan starts with: "+Beginning(filename)+".")
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
			return problem(at(), k.notText, k.title+" is not UTF-8", fmt.Sprintf("Byte 0x%02x is not valid UTF-8. Save the file as UTF-8.", src[i]))
		case (c < ' ' && c != '\t' && c != '\r') || c == 0x7f:
			return problem(at(), k.notText, "Control character in plan", fmt.Sprintf(`Invisible character U+%04X. Remove it; in a string, write it as "\u%04x".`, c, c))
		}
		i += size
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
	first, number := firstLine(string(text))
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
	at := hcl.Range{Filename: name, Start: hcl.Pos{Line: number, Column: 1}, End: hcl.Pos{Line: number, Column: 1 + len([]rune(first))}}
	return problem(at, "other-syntax", is+" in a file named as "+says, fmt.Sprintf("The content is %s, but the file name says %s. Rename it to %s.", is, says, base))
}

// firstLine is the first line that is not a comment, with its number.
func firstLine(text string) (line string, number int) {
	within := false
	for i, line := range splitLines([]byte(text)) {
		plain := strings.TrimSpace(line)
		switch {
		case within:
			within = !strings.Contains(plain, "*/")
		case strings.HasPrefix(plain, "/*"):
			within = !strings.Contains(plain, "*/")
		case plain == "", strings.HasPrefix(plain, "#"), strings.HasPrefix(plain, "//"):
		default:
			return strings.TrimRight(line, " \t"), i + 1
		}
	}
	return "", 1
}

// parseYAML reads a plan file in YAML into the body that the decoders read.
func (s *Source) parseYAML() hcl.Diagnostics {
	if diag := planText.checkText(s.Name, s.Text); diag != nil {
		return hcl.Diagnostics{diag}
	}
	s.Text = bytes.TrimPrefix(s.Text, []byte("\uFEFF"))
	root, diags := yamlbody.Parse(s.Text, s.Name, checkNesting)
	if root != nil {
		s.Body = root.Body()
	}
	return diags
}

// IsYAML reports whether a plan file is YAML, by its name.
func IsYAML(filename string) bool {
	ext := strings.ToLower(filepath.Ext(filename))
	return ext == ".yaml" || ext == ".yml"
}

// IsCaseFile reports whether a name is that of a file of cases, which is not part of a
// plan.
func IsCaseFile(name string) bool {
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	return (strings.EqualFold(filepath.Ext(name), ".hcl") || IsYAML(name)) && strings.EqualFold(filepath.Ext(stem), CaseSuffix)
}

// CaseSuffix is what the names of case files have before their extension.
const CaseSuffix = ".mxtest"

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

// IsPlanFile reports whether a folder's file is part of the plan.
func IsPlanFile(name string) bool { return IsSource(name) && !IsCaseFile(name) }

// IsSource reports whether a name is that of a file in the language of plans.
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
