package plans

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/mxflow/mxflow/plans/yamlbody"
)

// hclWriter writes the tree of a YAML file as HCL.
type hclWriter struct {
	b     strings.Builder
	diags hcl.Diagnostics
}

func (w *hclWriter) file(root *yamlbody.Node, doc *BlockDoc) []byte {
	w.comment(root.Comments.Head)
	if root.Comments.Head != "" {
		w.b.WriteByte('\n')
	}
	w.body(root, doc)
	w.comment(root.Comments.Foot)
	return hclwrite.Format([]byte(strings.TrimLeft(w.b.String(), "\n")))
}

func (w *hclWriter) fail(at hcl.Range, summary, detail string) {
	w.diags = append(w.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at})
}

// comment writes comments on lines of their own.
func (w *hclWriter) comment(text string) {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			w.b.WriteString(line + "\n")
		}
	}
}

func (w *hclWriter) body(n *yamlbody.Node, doc *BlockDoc) {
	for i, e := range n.Entries {
		header := headerOf(doc, e.Key.Text)
		if header != nil {
			w.blocks(e, header, doc, i == 0)
			continue
		}
		if !hclsyntax.ValidIdentifier(e.Key.Text) {
			w.fail(e.Key.Range, "Cannot write this in HCL", "The name of an argument has letters, digits, underscores and hyphens only, and begins with a letter.")
			continue
		}
		w.comment(e.Comments.Head)
		text := w.value(e.Value, doc.roleOf(e.Key.Text))
		if strings.Contains(text, "\n") {
			// Behind a heredoc nothing may stand.
			w.comment(e.Comments.Line)
			w.b.WriteString(e.Key.Text + " = " + text + "\n")
		} else {
			w.b.WriteString(e.Key.Text + " = " + text + lineComment(e.Comments.Line) + "\n")
		}
		w.comment(e.Comments.Foot)
	}
}

// headerOf is the header of a type of block that may stand in a body.
func headerOf(doc *BlockDoc, key string) *hcl.BlockHeaderSchema {
	if doc == nil {
		return nil
	}
	b := doc.Block(key)
	if b == nil && key == dynamicType && len(doc.Blocks) > 0 {
		b = dynamicOf(nil)
	}
	if b == nil {
		return nil
	}
	header := &hcl.BlockHeaderSchema{Type: key}
	for _, l := range b.Labels {
		header.LabelNames = append(header.LabelNames, l.Name)
	}
	return header
}

func (w *hclWriter) blocks(e *yamlbody.Entry, header *hcl.BlockHeaderSchema, doc *BlockDoc, first bool) {
	found, diags := yamlbody.Unpack(e, header)
	w.diags = append(w.diags, diags...)
	for _, f := range found {
		kind := ""
		if len(f.Labels) > 0 {
			kind = f.Labels[0]
		}
		inner := doc.inside(f.Type, kind)
		if f.Type == dynamicType {
			inner = dynamicOf(doc.Block(kind))
		}
		if !first {
			w.b.WriteByte('\n')
		}
		first = false
		w.comment(f.Comments.Head)
		w.comment(f.Comments.Line)
		w.b.WriteString(f.Type)
		for _, label := range f.Labels {
			w.b.WriteString(" " + quotedText(escapeTemplate(label)))
		}
		w.b.WriteString(" {")
		if len(f.Node.Entries) > 0 || f.Comments.Foot != "" {
			w.b.WriteByte('\n')
			w.body(f.Node, inner)
			w.comment(f.Comments.Foot)
		}
		w.b.WriteString("}\n")
	}
}
