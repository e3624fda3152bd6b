package plans

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// body reads the attributes and blocks of one block. Each method reports what
// is wrong with what it reads and returns the default instead, so that a
// decoder reads straight through and finds everything at once. An attribute
// that is null counts as not written.
type body struct {
	l *evalScope
	// what names the block in messages: `workload "chat"`.
	what   string
	def    hcl.Range
	attrs  hcl.Attributes
	blocks hcl.Blocks
	// values are the attributes evaluated so far.
	values map[string]cty.Value
	// secret are the attributes that may be secret, besides programs.
	secret map[string]bool
}

// fields opens the body of b.
func (l *evalScope) fields(b *hcl.Block, schema *hcl.BodySchema, what string) *body {
	content := l.content(b.Body, schema, what)
	return &body{
		l: l, what: what, def: b.DefRange,
		attrs: content.Attributes, blocks: content.Blocks,
		values: map[string]cty.Value{},
	}
}

// content applies a schema; where something does not belong, the message ends
// with what does.
func (l *evalScope) content(body hcl.Body, schema *hcl.BodySchema, what string) *hcl.BodyContent {
	content, diags := body.Content(schema)
	content = l.meant(body, schema, content, diags)
	for _, d := range diags {
		if strings.HasPrefix(d.Summary, "Unsupported ") && !strings.Contains(d.Detail, "Did you mean") {
			d.Detail += " " + accepts(what, schema)
		}
		if strings.Contains(d.Detail, `"for_each"`) || strings.Contains(d.Detail, `"count"`) {
			d.Detail += " for_each and count repeat " + orList(generates) + "; other blocks are repeated with dynamic."
		}
	}
	l.diags = append(l.diags, diags...)
	return content
}

func accepts(what string, schema *hcl.BodySchema) string {
	var words []string
	for _, a := range schema.Attributes {
		words = append(words, a.Name)
	}
	for _, b := range schema.Blocks {
		words = append(words, b.Type+" { }")
	}
	if len(words) == 0 {
		return "Nothing can be set in " + what + "."
	}
	return "In " + what + " there can be: " + strings.Join(words, ", ") + "."
}

// single is the one block of its type; more than one is an error at the second.
func (l *evalScope) single(blocks hcl.Blocks) *hcl.Block {
	if len(blocks) == 0 {
		return nil
	}
	for _, b := range blocks[1:] {
		l.fail(b.DefRange, "Duplicate "+b.Type+" block", "There can be one %s block here; the first is %s. Merge them.", b.Type, seenAt(blocks[0].DefRange, b.DefRange))
	}
	return blocks[0]
}

func (f *body) single(kind string) *hcl.Block { return f.l.single(f.blocks.OfType(kind)) }

// at is where attribute name is written, or the block's header.
func (f *body) at(name string) hcl.Range {
	if a := f.attrs[name]; a != nil {
		return a.Expr.Range()
	}
	return f.def
}

// value evaluates an attribute; false where it is absent, null or wrong.
func (f *body) value(name string) (cty.Value, bool) {
	a := f.attrs[name]
	if a == nil {
		return cty.NilVal, false
	}
	v, done := f.values[name]
	if !done {
		v = f.evaluate(name, a.Expr)
		f.values[name] = v
	}
	return v, v.IsWhollyKnown() && !v.IsNull()
}

// programs are the attributes that only a program gets to see, so that their
// values may be secret.
var programs = wordSet("args command dir env model settings")

func (f *body) evaluate(name string, expr hcl.Expression) cty.Value {
	f.l.at(f.what, f.def)
	v, ok := f.l.marked(expr)
	switch {
	case !ok:
	case f.secret[name] || programs[name]:
		v, _ = f.l.private(v, expr.Range())
	default:
		v, _ = f.l.public(v, expr.Range(), name)
	}
	return v
}

// required reports an absent attribute; why says what it is for.
func (f *body) required(name, why string) {
	if f.absent(name) {
		f.l.fail(f.at(name), "Missing "+name, "%s needs %s: %s", f.what, name, why)
	}
}

// absent tells an attribute that is not written, or null, from one that is
// wrong: that has been reported, and is not missing.
func (f *body) absent(name string) bool {
	if f.attrs[name] == nil {
		return true
	}
	v, _ := f.value(name)
	return v.IsKnown() && v.IsNull()
}

func (f *body) wrongType(name, want string, v cty.Value) {
	f.l.fail(f.at(name), "Wrong type for "+name, "%s takes %s; this is %s.", name, want, describe(v))
}

func (f *body) text(name, fallback string) string {
	v, ok := f.value(name)
	if !ok {
		return fallback
	}
	if v.Type() == cty.String {
		return v.AsString()
	}
	if s, ok := f.l.unwrapped(v, f.at(name)); ok {
		return s
	}
	f.wrongType(name, "text in quotes", v)
	return fallback
}

// needText is text that has to be there and has to say something.
func (f *body) needText(name, why string) string {
	f.required(name, why)
	v, ok := f.value(name)
	s := f.text(name, "")
	if ok && v.Type() == cty.String && strings.TrimSpace(s) == "" {
		f.l.fail(f.at(name), "Empty "+name, "%s needs %s: %s", f.what, name, why)
	}
	return s
}

func (f *body) oneOf(name, fallback string, options ...string) string {
	s := f.text(name, fallback)
	for _, o := range options {
		if s == o {
			return s
		}
	}
	f.l.fail(f.at(name), "Invalid "+name, "%s is one of %s; this is %q.", name, orList(options), s)
	return fallback
}

// choice is oneOf for an attribute without a default: empty where it is absent.
func (f *body) choice(name string, options ...string) string {
	if f.absent(name) {
		return ""
	}
	return f.oneOf(name, options[0], options...)
}

func (f *body) truth(name string, fallback bool) bool {
	v, ok := f.value(name)
	if !ok {
		return fallback
	}
	if v.Type() != cty.Bool {
		f.wrongType(name, "true or false", v)
		return fallback
	}
	return v.True()
}
