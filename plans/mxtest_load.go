package plans

import (
	"bytes"
	"maps"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans/redact"
)

// caseLoader reads the cases of a plan that is loaded, in the scope of its
// expressions and with its limits.
type caseLoader struct {
	*evalScope
	plan  *Plan
	ns    *namespace
	cases []*Case
	// named are where the names of cases stand.
	named map[string]hcl.Range
}

// LoadCases reads files of cases for a plan without errors. The second result has
// what is wrong with the files; the cases may be used where it is OK. Like Evaluate it is not for use at the same time by several.
func (r *Result) LoadCases(files []string) (cases []*Case, found *Findings) {
	return r.loadCases(files, func(path string) ([]byte, *hcl.Diagnostic) { return readSource(path, "case") })
}

// LoadCaseBytes is LoadCases for one file that is in memory.
func (r *Result) LoadCaseBytes(name string, text []byte) (cases []*Case, found *Findings) {
	return r.loadCases([]string{name}, func(string) ([]byte, *hcl.Diagnostic) { return text, nil })
}

func (r *Result) loadCases(files []string, read func(string) ([]byte, *hcl.Diagnostic)) (cases []*Case, found *Findings) {
	l := r.scope()
	found = &Findings{Files: maps.Clone(r.Files)}
	c := &caseLoader{evalScope: l, plan: r.Plan, ns: newNamespace(r.Plan), named: map[string]hcl.Range{}}
	before, sources, order := l.diags, maps.Clone(l.sources), l.order
	l.diags, l.work, l.suggestions = nil, 0, 200
	stop := r.guard().watch(l)
	defer stop()
	defer func() {
		if p := recover(); p != nil {
			cases = nil
			l.diags = hcl.Diagnostics{{
				Severity: hcl.DiagError, Summary: "Internal error while reading cases",
				Detail: internalMistake(p), Subject: startOf(files[0]).Ptr(),
			}}
		}
		hide := redact.New(append(l.secrets.list(), l.secrets.unseen...))
		for _, name := range files {
			if s := l.sources[name]; s != nil {
				found.Files[name] = &hcl.File{Body: s.body, Bytes: hide.Bytes(s.text)}
			}
		}
		l.explainAll(l.diags)
		for _, d := range l.diags {
			d.Summary, d.Detail = hide.Text(d.Summary), hide.Text(d.Detail)
		}
		found.Diagnostics = tidyDiagnostics(l.diags, files)
		maps.DeleteFunc(l.evaluated, func(at hcl.Range, _ evaluated) bool { return sources[at.Filename] == nil })
		l.diags, l.sources, l.order = before, sources, order
	}()
	l.sources = maps.Clone(sources)
	for _, path := range files {
		text, diag := read(path)
		if diag != nil {
			l.diags = append(l.diags, diag)
			continue
		}
		c.file(path, text)
	}
	return c.cases, found
}

// file reads one file of cases.
func (c *caseLoader) file(name string, text []byte) {
	c.at("the text of "+name, hcl.Range{Filename: name})
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))) == 0 {
		c.sources[name] = &source{name: name, text: text}
		c.fail(startOf(name), "Case file is empty", `There is nothing in the file. A case begins with: case "what is shown" { feature = feature.name }, and mxflow test --write writes some to begin with.`)
		return
	}
	s, diags := parse(name, text)
	c.sources[name] = s
	c.diags = append(c.diags, diags...)
	if s.body == nil || brokenSyntax(diags) {
		return
	}
	content := c.content(s.body, caseFileSchema, "a file of cases")
	for _, b := range content.Blocks {
		if made := c.decodeCase(b); made != nil {
			c.cases = append(c.cases, made)
		}
	}
	if len(content.Blocks) == 0 && !diags.HasErrors() && !c.diags.HasErrors() {
		c.fail(startOf(name), "Case file is empty", `There is no case in the file. One begins with: case "what is shown" { feature = feature.name }.`)
	}
}
