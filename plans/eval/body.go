package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

// Body reads the attributes and blocks of one block. Each method reports any mistake in
// what it reads and returns the default instead, so a decoder reads straight through
// and finds everything at once. An attribute that is null counts as not written.
type Body struct {
	Scope *Scope
	// What names the block in messages: `workload "chat"`.
	What   string
	Def    hcl.Range
	Attrs  hcl.Attributes
	Blocks hcl.Blocks
	doc    *lang.BlockDoc
	// misspelled are the names that wrong ones in the body were meant to be.
	misspelled map[string]bool
	// values are the attributes evaluated so far.
	values map[string]cty.Value
	// before is how many mistakes there were when it had been opened.
	before int
}

// Fields opens the body of b, whose permitted content doc describes.
func (l *Scope) Fields(b *hcl.Block, doc *lang.BlockDoc) *Body {
	what := b.Type
	for _, label := range b.Labels {
		if label != "" {
			what += " " + strconv.Quote(label)
		}
	}
	content, misspelled := l.content(b.Body, doc.Schema(), what)
	return &Body{
		Scope: l, What: what, Def: b.DefRange, doc: doc, misspelled: misspelled,
		Attrs: content.Attributes, Blocks: content.Blocks, values: map[string]cty.Value{}, before: len(l.Diags),
	}
}

func (f *Body) attr(name string) *plans.Attr {
	if a := f.doc.Attr(name); a != nil {
		return a
	}
	return &plans.Attr{Name: name, Type: plans.Anything}
}

// Content applies a schema; if something does not belong, the message names what does.
// Blocks whose type is misspelled are read as the type that was meant: the mistake is
// already reported, and a block left out would be missed wherever something refers to it.
func (l *Scope) Content(body hcl.Body, schema *hcl.BodySchema, what string) *hcl.BodyContent {
	content, _ := l.content(body, schema, what)
	return content
}

// content is Content; misspelled are the names that wrong ones were meant to be.
func (l *Scope) content(body hcl.Body, schema *hcl.BodySchema, what string) (content *hcl.BodyContent,
	misspelled map[string]bool,
) {
	content, diags := body.Content(schema)
	l.Diags = append(l.Diags, diags...)
	misspelled = map[string]bool{}
	types, unknown := map[string]string{}, false
	wider := *schema
	for _, d := range diags {
		code := lang.CodeOf(d)
		if code != "unknown-block" && code != "unknown-attribute" || d.Subject == nil {
			continue
		}
		unknown = unknown || code == "unknown-block"
		text := l.TextAt(*d.Subject)
		word := strings.Trim(string(text[:min(len(text), max(0, d.Subject.End.Byte-d.Subject.Start.Byte))]), `"'`)
		if word == "" {
			continue
		}
		best := l.misplaced(d, word, schema, what)
		misspelled[best] = true
		if i := blockIn(schema, best); i >= 0 && types[word] == "" {
			types[word] = best
			wider.Blocks = append(slices.Clip(wider.Blocks),
				hcl.BlockHeaderSchema{Type: word, LabelNames: schema.Blocks[i].LabelNames})
		}
	}
	if len(types) > 0 {
		content, _ = body.Content(&wider)
		for _, b := range content.Blocks {
			b.Type = lang.OrDefault(types[b.Type], b.Type)
		}
	} else if unknown && l.Whole != nil && what == WholePlan {
		// It may be one of those that the plan lacks.
		have := content.Blocks.ByType()
		for _, b := range schema.Blocks {
			if len(have[b.Type]) == 0 && len(b.LabelNames) > 0 {
				l.MarkIncomplete(b.Type)
			}
		}
	}
	return content, misspelled
}

// WholePlan names the plan outside all blocks in messages.
const WholePlan = "a plan"

// misplaced explains, for a name that does not belong in its place, what does, and
// returns the name that was meant, if any.
func (l *Scope) misplaced(d *hcl.Diagnostic, word string, schema *hcl.BodySchema, what string) (best string) {
	var names, forms []string
	attribute := false
	for _, a := range schema.Attributes {
		names, forms = append(names, a.Name), append(forms, a.Name)
		attribute = attribute || a.Name == word
	}
	for _, b := range schema.Blocks {
		names, forms = append(names, b.Type), append(forms, "‹"+b.Type+" { }›")
	}
	if best = lang.Nearest(word, names); slices.Contains(names, usualNames[word]) {
		best = usualNames[word]
	}
	d.Detail = fmt.Sprintf("%q is not expected here.", word)
	switch {
	case attribute:
		d.Detail += fmt.Sprintf(" It is an argument: write ‹%s = …›.", word)
		best = ""
	case blockIn(schema, word) >= 0:
		d.Detail += fmt.Sprintf(" It is a block: write ‹%s { … }›.", word)
		best = ""
	case best != "":
		d.Detail += " Did you mean " + lang.Quoted(best) + "?"
	default:
		d.Detail += " Expected in " + what + ": " + lang.OrNothing(forms) + "."
		if blocks := l.Whole.TypesWith(word); len(blocks) > 0 && len(blocks) <= mostBlocks {
			d.Detail += fmt.Sprintf(" %s belongs in %s.", word, strings.Join(blocks, ", "))
		}
	}
	if word == "for_each" {
		d.Detail += " for_each repeats " + plans.OrList(Generates) + "; other blocks are repeated with dynamic."
	}
	return best
}

// usualNames are names that attributes have elsewhere.
var usualNames = map[string]string{
	"pp": "prompt_tokens", "isl": "prompt_tokens", "input_tokens": "prompt_tokens", "input_len": "prompt_tokens",
	"tg": "output_tokens", "osl": "output_tokens", "max_tokens": "output_tokens", "output_len": "output_tokens",
	"depends_on": "after", "needs": "after", "expr": "rule",
}

// mostBlocks is in how many blocks a name may be known to say in which.
const mostBlocks = 4

// blockIn is the index of a type of block in a schema, or -1.
func blockIn(schema *hcl.BodySchema, name string) int {
	return slices.IndexFunc(schema.Blocks, func(b hcl.BlockHeaderSchema) bool { return b.Type == name })
}

// Single is the one block of its type; more than one is an error at the second.
func (l *Scope) Single(blocks hcl.Blocks) *hcl.Block {
	if len(blocks) == 0 {
		return nil
	}
	for _, b := range blocks[1:] {
		l.Fail(b.DefRange, "duplicate-name", "Duplicate "+b.Type+" block",
			"Only one %s block is allowed here; the first is %s. Merge them.", b.Type,
			lang.SeenAt(blocks[0].DefRange, b.DefRange))
	}
	return blocks[0]
}

func (f *Body) Single(kind string) *hcl.Block { return f.Scope.Single(f.Blocks.OfType(kind)) }

// At is where attribute name is written, or the block's header.
func (f *Body) At(name string) hcl.Range {
	if a := f.Attrs[name]; a != nil {
		return a.Expr.Range()
	}
	return f.Def
}

// Value evaluates an attribute; false if it is absent, null or wrong.
func (f *Body) Value(name string) (cty.Value, bool) {
	a := f.Attrs[name]
	if a == nil {
		return cty.NilVal, false
	}
	v, done := f.values[name]
	if !done {
		var ok bool
		if v, ok = f.Scope.Marked(a.Expr); ok && f.attr(name).Program {
			v, _ = f.Scope.Private(v, a.Expr.Range())
		} else if ok {
			v, _ = f.Scope.public(v, a.Expr.Range(), name)
		}
		f.values[name] = v
	}
	return v, v.IsWhollyKnown() && !v.IsNull()
}

// Required reports an absent attribute; why is what it is for.
func (f *Body) Required(name, why string) {
	if f.Lacks(name) {
		f.Scope.Fail(f.At(name), "missing-attribute", "Missing "+name, "%s needs %s: %s", f.What, name, why)
	}
}

// Absent distinguishes an attribute that is not written, or null, from one that is wrong:
// that has been reported, and is not missing.
func (f *Body) Absent(name string) bool {
	if f.Attrs[name] == nil {
		return true
	}
	v, _ := f.Value(name)
	return v.IsKnown() && v.IsNull()
}

// Lacks is Absent, except for an attribute whose name is misspelled: that has been
// reported.
func (f *Body) Lacks(name string) bool { return f.Absent(name) && !f.Misspelled(name) }

// Misspelled reports whether a wrong name in the body was meant to be this one.
func (f *Body) Misspelled(name string) bool { return f.misspelled[name] }

func (f *Body) WrongType(name, want string, v cty.Value) {
	f.Scope.WrongType(f.At(name), name, want, v)
}

// NeedText is a required text that must not be blank.
func (f *Body) NeedText(name, why string) string {
	f.needText(name, why)
	return f.Text(name)
}

// Ref is a reference to a block of one of some types; nil if there is none.
func (f *Body) Ref(name string, blocks ...string) *Ref {
	f.ReadReferences(name)
	v, ok := f.Value(name)
	if !ok {
		return nil
	}
	r, ok := f.Scope.AsRef(v, f.At(name), name, blocks...)
	if !ok {
		return nil
	}
	return &r
}

// Refs is a list of references to blocks of one type, none of them twice.
func (f *Body) Refs(name, block string) []Ref {
	f.ReadReferences(name)
	v, ok := f.Value(name)
	if !ok {
		return nil
	}
	list, _ := f.Scope.AsRefs(v, f.Attrs[name].Expr, name, block)
	return list
}

// AsRefs is a value as such a list; false if something is wrong with it.
func (l *Scope) AsRefs(v cty.Value, expr hcl.Expression, name, block string) (list []Ref, ok bool) {
	elems, ok := References(expr, v)
	if !ok {
		l.WrongType(expr.Range(), name, fmt.Sprintf("a list of references, such as [%s]", l.Example(block)), v)
		return nil, false
	}
	for _, e := range elems {
		r, fine := l.AsRef(e.V, e.At, name, block)
		if fine && slices.ContainsFunc(list, func(o Ref) bool { return o.Key == r.Key }) {
			l.Fail(e.At, "duplicate-entry", "Duplicate reference", "%s is already in %s. Remove one.", r, name)
			fine = false
		}
		if ok = ok && fine; fine {
			list = append(list, r)
		}
	}
	return list, ok
}

// References are the elements of a list of references. A name that stands for all
// instances made by for_each or count counts as that many elements, wherever one may
// stand.
func References(expr hcl.Expression, v cty.Value) ([]Element, bool) {
	if ty := v.Type(); !v.IsNull() && (ty.IsObjectType() || ty.IsMapType()) && !ty.Equals(lang.ReferenceType) {
		list, ok := references(v)
		var elems []Element
		for _, r := range list {
			elems = append(elems, Element{r, expr.Range()})
		}
		return elems, ok
	}
	elems, ok := Elements(expr, v)
	var all []Element
	for _, e := range elems {
		list, grouped := references(e.V)
		if !grouped {
			all = append(all, e) // a mistake in it is reported where it is read
			continue
		}
		for _, r := range list {
			all = append(all, Element{r, e.At})
		}
	}
	return all, ok
}

// ReadReferences lets the text of an attribute name blocks: in YAML, "engine:
// engine.embedded.tiny" needs no ${ }, since text means nothing where a reference is
// expected.
func (f *Body) ReadReferences(name string) {
	if a := f.Attrs[name]; a != nil && yamlbody.ReadReferences(a.Expr, "accepted", "baseline") {
		delete(f.values, name)
	}
}

// FirstPresent is the first attribute or block of these that is written; empty for none.
func (f *Body) FirstPresent(names ...string) string {
	for _, name := range names {
		if !f.Absent(name) || len(f.Blocks.OfType(name)) > 0 {
			return name
		}
	}
	return ""
}

// Where is where an attribute or block is written.
func (f *Body) Where(name string) hcl.Range {
	if blocks := f.Blocks.OfType(name); len(blocks) > 0 {
		return blocks[0].DefRange
	}
	return f.At(name)
}

// Generates are the block types that for_each works on.
var Generates = []string{"engine", "workload", "target", "phase", "feature"}
