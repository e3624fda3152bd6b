package plans

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Format lays a plan file, or a file of variables, out in the one way that all
// plans have. What the text means does not change. Text with syntax errors is
// not touched: the result is then nil, and the diagnostics say where.
func Format(filename string, src []byte) ([]byte, *Findings) {
	if IsYAML(filename) {
		return formatYAML(filename, src)
	}
	return formatHCL(filename, src)
}

// IsYAML tells by its name whether a plan file is YAML.
func IsYAML(filename string) bool {
	ext := strings.ToLower(filepath.Ext(filename))
	return ext == ".yaml" || ext == ".yml"
}

// formatHCL looks for syntax errors while it formats, so that refusing broken
// text takes no time of its own.
func formatHCL(filename string, src []byte) ([]byte, *Findings) {
	if len(bytes.TrimSpace(src)) == 0 {
		return src, nil // an empty file of variables is none's mistake
	}
	if !shallow(src) {
		if _, diag := checkSource(filename, src); diag != nil {
			return nil, problems(filename, src, diag)
		}
	}
	formatted := make(chan []byte, 1)
	go func() { formatted <- hclwrite.Format(src) }()
	_, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	out := <-formatted
	if brokenSyntax(diags) {
		return nil, unread(filename, src, diags)
	}
	return out, nil
}

// shallow tells text that can drive neither parser nor formatter to excess, by
// counting alone: nesting is at most the number of characters that nest, and
// what the formatter adds to a line at most twice that. All plans but the very
// largest are shallow, and need no look at their tokens first.
func shallow(src []byte) bool {
	const most, mostAdded = 50_000, 100_000_000
	nesting := 0
	for _, c := range src {
		switch c {
		case '(', '[', '{', '!', '-', '?':
			nesting++
		}
	}
	return len(src) <= maxSource && nesting <= most && nesting*bytes.Count(src, []byte("\n")) <= mostAdded
}

// unread is problems of text that cannot be parsed.
func unread(filename string, src []byte, diags hcl.Diagnostics) *Findings {
	if other := otherSyntax(filename, src); other != nil {
		return problems(filename, src, other)
	}
	return problems(filename, src, diags...)
}

// problems are Findings of one text.
func problems(filename string, src []byte, diags ...*hcl.Diagnostic) *Findings {
	return &Findings{Diagnostics: diags, Files: map[string]*hcl.File{filename: {Bytes: src}}}
}
