package arms

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// HCL is a text in HCL syntax, with nothing in it evaluated.
func HCL(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

func HCLList(list []string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = HCL(s)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// Writer writes blocks of HCL.
type Writer struct{ b strings.Builder }

func (w *Writer) Line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// List, Table and Text write an attribute unless it is empty.
func (w *Writer) List(name string, list []string) {
	if len(list) > 0 {
		w.Line("%s = %s", name, HCLList(list))
	}
}

func (w *Writer) Table(name string, m map[string]string) {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, key+" = "+HCL(m[key]))
	}
	if len(parts) > 0 {
		w.Line("%s = { %s }", name, strings.Join(parts, ", "))
	}
}

func (w *Writer) Text(name, value string) {
	if value != "" {
		w.Line("%s = %s", name, HCL(value))
	}
}

func (w *Writer) Number(name string, n int) { w.Line("%s = %d", name, n) }

// Phase writes a phase with one feature that a rule decides; more are its other attributes.
func (w *Writer) Phase(phase, feature string, set map[string]string, criterion, rule string, more ...string) {
	w.Line("phase %q {\nfeature %q {", phase, feature)
	w.Table("set", set)
	for _, line := range more {
		w.Line("%s", line)
	}
	w.Line("\ncriterion %q {\nrule = %s\n}\n}\n}", criterion, HCL(rule))
}

// Format is what was written, aligned as mxflow fmt does.
func (w *Writer) Format() []byte { return hclwrite.Format([]byte(w.b.String())) }
