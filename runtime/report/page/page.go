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
	"sync"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

var (
	//go:embed page.js
	script string
	//go:embed page.css
	style string
	//go:embed page.html
	body string
)

// policy lets a browser run only what mxflow wrote, and load nothing: a name that got
// through every escape would still be text.
var policy = sync.OnceValue(func() string {
	return "default-src 'none'; base-uri 'none'; form-action 'none'; script-src " + hash(script) +
		"; style-src " + hash(style)
})

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
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
		"style":    func() template.HTML { return template.HTML("<style>" + style + "</style>") },
		"script":   func() template.HTML { return template.HTML("<script>" + script + "</script>") },
		"launches": verdict.Launches,
		"key": func(name string, base, hollow bool) any {
			return struct {
				Name         string
				Base, Hollow bool
			}{name, base, hollow}
		},
		"add":   func(a, b int) int { return a + b },
		"above": func(i int) int { return 12 + 14*i },
		"row": func(c Chart, b Bar) any {
			return struct {
				Lines []Tick
				Bar   Bar
			}{c.Lines, b}
		},
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
