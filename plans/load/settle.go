package load

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

// settle evaluates all locals and makes all blocks, and declares their names.
func (l *loader) settle(all hcl.Blocks) []*eval.Group {
	l.locals, l.settling = map[string]*hcl.Attribute{}, true
	for _, b := range all.OfType("locals") {
		attrs, diags := b.Body.JustAttributes()
		l.Diags = append(l.Diags, diags...)
		for _, a := range slices.SortedFunc(maps.Values(attrs), func(a, b *hcl.Attribute) int {
			return a.Range.Start.Byte - b.Range.Start.Byte
		}) {
			if l.declare("local", a.Name, a.NameRange) {
				l.locals[a.Name] = a
			}
		}
	}
	l.Inputs.Locals = l.locals
	var generated []*eval.Group
	for _, b := range all {
		if g := l.newGroup(b); g != nil {
			generated = append(generated, g)
		}
	}
	for _, name := range l.Symbols.Of("local").Order {
		l.visit("local."+name, l.Symbols["local"].ByKey[name].At)
	}
	for _, g := range generated {
		l.visit(g.Node(), g.Block.DefRange)
	}
	l.visit("features", l.Start())
	for _, g := range generated {
		l.declareGroup(g)
	}
	// Every block becomes visible, now that it is known which there are.
	l.settling = false
	l.Ctx.Variables["local"] = cty.ObjectVal(l.localValues)
	for _, kind := range eval.Referable {
		l.Ctx.Variables[kind] = l.Groups.Object(kind, nil, true)
	}
	return generated
}

// need settles what an expression names, and brings nothing else into scope: a plan with
// many locals does not build the object of all of them for each.
func (l *loader) need(uses []hcl.Traversal) bool {
	locals := map[string]cty.Value{}
	wanted := map[string][]string{}
	ok := true
	for _, t := range uses {
		root := t.RootName()
		name, static := lang.StepName(t, 1)
		at := t.SourceRange()
		switch {
		case root == "local":
			if static && l.locals[name] != nil {
				ok = l.visit("local."+name, at) && ok
				locals[name] = l.localValues[name]
			}
		case root == "feature":
			ok = l.visit("features", at) && ok
			wanted[root] = append(wanted[root], "")
		case eval.IsReferable(root):
			key := ""
			if kind := name; static && root == "engine" {
				name, static = lang.StepName(t, 2)
				key = kind + "." + name
			} else if static {
				key = name
			}
			if !static || l.Groups.ByKey(root, key) == nil {
				key = "" // it may be any of them
			}
			wanted[root] = append(wanted[root], key)
			if key != "" {
				ok = l.visit(root+"."+key, at) && ok
				continue
			}
			for _, g := range l.Groups.Of[root] {
				ok = l.visit(g.Node(), at) && ok
			}
		}
	}
	// Only now, since visiting others has used the same scope.
	scope := l.Ctx.Variables
	scope["local"] = cty.ObjectVal(locals)
	for root, keys := range wanted {
		all := slices.Contains(keys, "")
		scope[root] = l.Groups.Object(root, keys, all)
	}
	return ok
}

// visit settles one node; false if it cannot be settled, which has been reported.
func (l *loader) visit(node string, at hcl.Range) bool {
	if l.open[node] {
		circle, locals := l.path[slices.Index(l.path, node):], true
		for _, n := range circle {
			l.failed[n] = true
			locals = locals && strings.HasPrefix(n, "local.")
		}
		words := strings.Join(circle, " → ") + " → " + node
		if locals {
			l.Fail(at, "cycle", "Cycle of locals", "A local cannot depend on itself: %s. Break the cycle.", words)
		} else {
			l.Fail(at, "repetition", "Cycle of for_each",
				"The blocks that exist cannot depend on themselves: %s. Base for_each on something else.", words)
		}
		return false
	}
	if l.done[node] {
		return !l.failed[node]
	}
	l.open[node], l.path = true, append(l.path, node)
	defer func() {
		delete(l.open, node)
		l.done[node] = true
		l.path = l.path[:len(l.path)-1]
	}()
	kind, key, _ := strings.Cut(node, ".")
	switch kind {
	case "local":
		l.localValues[key] = cty.DynamicVal
		l.localValues[key], _ = l.Marked(l.locals[key].Expr) // with the marks of what it is computed from
	case "features":
		for _, g := range l.Groups.Of["phase"] {
			l.visit(g.Node(), g.Block.DefRange)
			for _, i := range g.Instances {
				l.Within(i, func() { l.openPhase(i) })
			}
		}
	default:
		if g := l.Groups.ByKey(kind, key); g != nil {
			l.Within(nil, func() { g.Instances = l.instances(g, g.Block, nil) })
		}
	}
	return !l.failed[node]
}

var localsDoc = block(struct{}{}, lang.BlockDoc{
	Type: "locals", Times: plans.AnyTimes,
	Doc:  "Named values, read as `local.<name>`. They can be in any order and refer to each other, but not in a cycle.",
	Open: &plans.Attr{Name: "name", Type: plans.Anything, Doc: "Any expression."},
})

// declare notes a name and reports whether it is new.
func (l *loader) declare(kind, key string, at hcl.Range) bool {
	n := l.Symbols.Of(kind)
	if first := n.ByKey[key]; first != nil {
		l.Fail(at, "duplicate-name", "Duplicate "+kind,
			"The %s %q is already declared %s. Names are unique; rename or remove one.", kind, key,
			lang.SeenAt(first.At, at))
		return false
	}
	n.ByKey[key] = &eval.Symbol{At: at}
	n.Order = append(n.Order, key)
	return true
}

// phaseBlock is a phase whose features are known before anything refers to them.
type phaseBlock struct {
	block    *hcl.Block
	features []*eval.Instance
	// written is how many feature blocks it has.
	written int
}

// nameUses is where rules use the names of a block type.
var nameUses = map[string]lang.NameUse{
	"workload": lang.InRules | lang.FirstInRules, "target": lang.InRules, "imported": lang.InRules,
	"phase": lang.InRules, "feature": lang.InRules,
}

// declareGroup declares the blocks that one block has made.
func (l *loader) declareGroup(g *eval.Group) {
	b := g.Block
	label := len(b.Labels) - 1
	if g.Repeated() {
		l.CheckName(b, label, 0)
		if first := l.Groups.ByKey(g.Kind, g.Key); first != g {
			l.Fail(b.LabelRanges[label], "duplicate-name", "Duplicate "+g.Kind,
				"The %s %q is already declared %s. Names are unique; rename or remove one.", g.Kind, g.Key,
				lang.SeenAt(first.Block.LabelRanges[label], b.LabelRanges[label]))
		}
	}
	for _, i := range g.Instances {
		l.CheckName(i.Block, label, nameUses[g.Kind])
		l.declare(g.Kind, strings.Join(i.Block.Labels, "."), b.LabelRanges[label])
		if ph := l.phases[i]; ph != nil {
			for _, f := range ph.features {
				l.CheckName(f.Block, 0, lang.InRules)
				l.declare("feature", f.Block.Labels[0], f.Block.LabelRanges[0])
			}
		}
	}
}

// openPhase makes the features of a phase. The rest of its body is read, and its mistakes
// reported, when the phase is decoded.
func (l *loader) openPhase(i *eval.Instance) {
	ph := &phaseBlock{block: i.Block}
	l.phases[i] = ph
	schema := *phaseDoc.Schema()
	schema.Blocks = append(slices.Clone(schema.Blocks),
		hcl.BlockHeaderSchema{Type: lang.DynamicType, LabelNames: []string{"type"}})
	before := l.Diags
	content := l.Content(i.Block.Body, &schema, "")
	l.Diags = before
	written := content.Blocks.OfType("feature")
	ph.written = len(written)
	for _, fb := range written {
		g := l.Groups.ByKey("feature", fb.Labels[0])
		if g == nil {
			g = &eval.Group{Kind: "feature", Key: fb.Labels[0], Block: fb}
			l.Groups.Add(g)
		}
		for _, made := range l.instances(g, fb, i) {
			ph.features = append(ph.features, made)
			g.Instances = append(g.Instances, made)
		}
	}
}

// newGroup notes a block that others may refer to; nil for any other. A second
// block of a name has no node of its own, and is reported when it is declared.
func (l *loader) newGroup(b *hcl.Block) *eval.Group {
	if !eval.IsReferable(b.Type) || b.Type == "feature" {
		return nil
	}
	if known := lang.KeysOf(l.reg.Engines); b.Type == "engine" && !slices.Contains(known, b.Labels[0]) {
		l.Fail(b.LabelRanges[0], "unknown-kind", "Unknown engine kind", "There is no engine kind %q.%s", b.Labels[0],
			l.DidYouMean(b.Labels[0], known))
		// What refers to the engine by the right name is no mistake.
		if kind := lang.Nearest(b.Labels[0], known); kind != "" {
			b.Labels = []string{kind, b.Labels[1]}
		}
	}
	g := &eval.Group{Kind: b.Type, Key: strings.Join(b.Labels, "."), Block: b}
	if l.Groups.ByKey(b.Type, g.Key) != nil {
		g.Instances = []*eval.Instance{{Block: b}}
		if b.Type == "phase" {
			l.openPhase(g.Instances[0])
		}
		return g
	}
	l.Groups.Add(g)
	return g
}
