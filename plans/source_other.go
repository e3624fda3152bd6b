package plans

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

var (
	yamlBegins = regexp.MustCompile(`^(---|[A-Za-z_][A-Za-z0-9_-]*:(\s|$))`)
	hclBegins  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\s+("[^"]*"|[A-Za-z0-9_-]+))*\s*(\{|=)`)
)

// otherSyntax says of a file that cannot be read that it is written in the other
// syntax than its name says; nil where it is not. Each line of such a file is an
// error, and none of them says so.
func otherSyntax(name string, text []byte) *hcl.Diagnostic {
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
	at := hcl.Range{Start: hcl.Pos{Line: number, Column: 1}, End: hcl.Pos{Line: number, Column: 1 + len([]rune(first))}}
	return sourceError(name, at, is+" in a file of "+says, fmt.Sprintf("This is written in %s, and the name of the file says that it is %s. Rename it to %s.", is, says, base))
}

// firstLine is the first line that is no comment, with its number.
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
