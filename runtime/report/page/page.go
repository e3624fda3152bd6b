// Package page shows the contents of a state directory as one self-contained HTML file:
// it loads nothing from a network, no font and no picture. It chooses and lays out the
// facts; the words are those of reasons and of package report. It decides nothing and
// measures nothing.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

var (
	//go:embed browser/d3.min.js
	d3 string
	//go:embed browser/plot.min.js
	plotFile string
	//go:embed page.js
	script string
	//go:embed page.css
	style string
	//go:embed page.html
	body string
)

// plot is the library with its two invisible characters (a soft hyphen and a zero-width
// space, both in strings) as escapes: terminal output replaces such characters, and a
// modified script is not run.
var plot = sync.OnceValue(func() string {
	return strings.NewReplacer("\u00ad", `\u00ad`, "\u200b", `\u200b`).Replace(plotFile)
})

// plotStyle is what Plot puts into each drawing.
const plotStyle = ":where(.plot-d6a7b5) {\n  --plot-background: white;\n  display: block;\n  height: auto;\n " +
	" height: intrinsic;\n  max-width: 100%;\n}\n" +
	":where(.plot-d6a7b5 text),\n:where(.plot-d6a7b5 tspan) {\n  white-space: pre;\n}"

// policy lets a browser run only what mxflow wrote, and load nothing: a name that got
// through every escape would still be text.
var policy = sync.OnceValue(func() string {
	return "default-src 'none'; base-uri 'none'; form-action 'none'; script-src " + hashes(d3, plot(), script) +
		"; style-src " + hashes(style, plotStyle)
})

func hashes(texts ...string) string {
	var out []string
	for _, t := range texts {
		sum := sha256.Sum256([]byte(t))
		out = append(out, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return strings.Join(out, " ")
}

// parsed is made when first asked for, as the others here: every launch starts mxflow
// again, and few of them write a page.
var parsed = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"minute": minute, "plain": plain, "briefly": briefly, "expected": report.ExpectedBecause,
		"pairs": func(of map[string]string) string { return verdict.Pairs(of, " = ", ", ") },
		"policy": func(revision string) string {
			if revision != "" {
				return policy() + "; connect-src 'self'"
			}
			return policy()
		},
		"style": func() template.HTML { return template.HTML("<style>" + style + "</style>") },
		"scripts": func() template.HTML {
			return template.HTML("<script>" + d3 + "</script>\n<script>" + plot() + "</script>\n<script>" +
				script + "</script>")
		},
		"add":   func(a, b int) int { return a + b },
		"above": func(i int) int { return 12 + 14*i },
		"row": func(c Chart, b Bar) any {
			return struct {
				Lines []Tick
				Bar   Bar
			}{c.Lines, b}
		},
		"figure": func(kind, title string, at int) Figure { return Figure{kind, at, title} },
	}).Parse(body))
})

// Write writes the page.
func Write(w io.Writer, m *Model) error {
	var out bytes.Buffer
	out.WriteString("<!doctype html>\n<!-- mxflow report -->\n")
	if err := parsed().Execute(&out, m); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}
