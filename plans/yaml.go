package plans

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mxflow/mxflow/plans/yamlbody"
)

// parseYAML reads a plan file in YAML into the body that the decoders read.
func (s *source) parseYAML() hcl.Diagnostics {
	if diag := checkText(s.name, s.text); diag != nil {
		return hcl.Diagnostics{diag}
	}
	root, diags := s.parseTree()
	if root != nil {
		s.body = root.Body()
	}
	return diags
}

// parseTree reads the text as a tree; nil where it is broken.
func (s *source) parseTree() (*yamlbody.Node, hcl.Diagnostics) {
	s.text = bytes.TrimPrefix(s.text, []byte("\uFEFF"))
	return yamlbody.Parse(s.text, s.name, guardTemplate)
}

// guardTemplate is checkNesting for a text within YAML.
func guardTemplate(text string, language yamlbody.Language) (loops int, refused *yamlbody.Refusal) {
	src, top := []byte(text), frame{}
	var tokens hclsyntax.Tokens
	if language == yamlbody.TemplateText {
		top.text = true
		tokens, _ = hclsyntax.LexTemplate(src, "", hcl.InitialPos)
	} else {
		tokens, _ = hclsyntax.LexExpression(src, "", hcl.InitialPos)
	}
	n := nesting{frames: []frame{top}}
	for i, t := range tokens {
		if summary, detail := n.token(t, tokens[i+1:]); summary != "" {
			return 0, &yamlbody.Refusal{From: t.Range.Start.Byte, To: t.Range.End.Byte, Summary: summary, Detail: detail}
		}
	}
	return len(n.found), nil
}

// weigh says how much text an expression is made of, and whether a for
// expression is in it. In YAML, what an alias names counts where it is used.
func (l *evalScope) weigh(expr hcl.Expression) (size int, loops bool) {
	if size, loops, ok := yamlbody.Weigh(expr); ok {
		return size, loops
	}
	rng := expr.Range()
	return max(0, rng.End.Byte-rng.Start.Byte), l.loops(rng)
}

// readReferences lets the text of an attribute name blocks: in YAML,
// "engine: engine.embedded.tiny" needs no ${ }, since text means nothing where a
// reference is wanted.
func (f *body) readReferences(name string) {
	if a := f.attrs[name]; a != nil && yamlbody.ReadReferences(a.Expr, "accepted", "baseline") {
		delete(f.values, name)
	}
}

// inQuotes reports whether what stands somewhere is in quotes: in either syntax
// they say that text is meant. HCL has no single ones.
func (l *texts) inQuotes(at hcl.Range) bool {
	text := l.textAt(at)
	return len(text) > 0 && (text[0] == '"' || text[0] == '\'')
}
