package load

import (
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

// settling finds out which blocks a plan has. Locals may refer to blocks, and for_each
// uses locals to decide which blocks there are, so both are evaluated in the order of
// their dependencies: each node when another one asks for it.
type settling struct {
	*eval.Scope
	// kinds are the engine kinds there are.
	kinds map[string]plans.EngineKind
	// running is set until it is known which blocks there are.
	running bool
	// phases are the opened bodies of phases.
	phases map[*eval.Instance]*phaseBlock
	// made counts the blocks that for_each and dynamic have made.
	made int

	locals map[string]*hcl.Attribute
	values map[string]cty.Value
	// done and open are nodes that have been, or are being, visited: "local.x",
	// "workload.chat", and "features" for what all phases hold.
	done, open map[string]bool
	path       []string
	// failed is set if a node is on a cycle, which has been reported.
	failed map[string]bool
}

// settle evaluates all locals and makes all blocks, and declares their names.
func (s *settling) settle(all hcl.Blocks) []*eval.Group {
	s.locals, s.running = s.declareLocals(all), true
	s.Inputs.Locals = s.locals
	var generated []*eval.Group
	for _, b := range all {
		if g := s.newGroup(b); g != nil {
			generated = append(generated, g)
		}
	}
	for _, name := range s.Symbols.Of("local").Order {
		s.visit("local."+name, s.Symbols["local"].ByKey[name].At)
	}
	for _, g := range generated {
		s.visit(g.Node(), g.Block.DefRange)
	}
	s.visit("features", s.Start())
	for _, g := range generated {
		s.declareGroup(g)
	}
	return generated
}

// closeScope makes every block visible, now that it is known which there are.
func (s *settling) closeScope() {
	s.running = false
	s.Ctx.Variables["local"] = cty.ObjectVal(s.values)
	for _, kind := range eval.Referable {
		s.Ctx.Variables[kind] = s.Groups.Object(kind, nil, true)
	}
}

// need settles what an expression names, and brings nothing else into scope: a plan with
// many locals does not build the object of all of them for each.
func (s *settling) need(uses []hcl.Traversal) bool {
	locals := map[string]cty.Value{}
	wanted := map[string][]string{}
	ok := true
	for _, t := range uses {
		root := t.RootName()
		name, static := lang.StepName(t, 1)
		at := t.SourceRange()
		switch {
		case root == "local":
			if static && s.locals[name] != nil {
				ok = s.visit("local."+name, at) && ok
				locals[name] = s.values[name]
			}
		case root == "feature":
			ok = s.visit("features", at) && ok
			wanted[root] = append(wanted[root], "")
		case eval.IsReferable(root):
			key := ""
			if kind := name; static && root == "engine" {
				name, static = lang.StepName(t, 2)
				key = kind + "." + name
			} else if static {
				key = name
			}
			if !static || s.Groups.ByKey(root, key) == nil {
				key = "" // it may be any of them
			}
			wanted[root] = append(wanted[root], key)
			if key != "" {
				ok = s.visit(root+"."+key, at) && ok
				continue
			}
			for _, g := range s.Groups.Of[root] {
				ok = s.visit(g.Node(), at) && ok
			}
		}
	}
	// Only now, since visiting others has used the same scope.
	scope := s.Ctx.Variables
	scope["local"] = cty.ObjectVal(locals)
	for root, keys := range wanted {
		all := slices.Contains(keys, "")
		scope[root] = s.Groups.Object(root, keys, all)
	}
	return ok
}

// visit settles one node; false if it cannot be settled, which has been reported.
func (s *settling) visit(node string, at hcl.Range) bool {
	if s.open[node] {
		s.cycle(node, at)
		return false
	}
	if s.done[node] {
		return !s.failed[node]
	}
	s.open[node], s.path = true, append(s.path, node)
	defer func() {
		delete(s.open, node)
		s.done[node] = true
		s.path = s.path[:len(s.path)-1]
	}()
	kind, key, _ := strings.Cut(node, ".")
	switch kind {
	case "local":
		s.local(key)
	case "features":
		s.features()
	default:
		if g := s.Groups.ByKey(kind, key); g != nil {
			s.Within(nil, func() { g.Instances = s.instances(g, g.Block, nil) })
		}
	}
	return !s.failed[node]
}

// features opens the phases, whose bodies hold them.
func (s *settling) features() {
	for _, g := range s.Groups.Of["phase"] {
		s.visit(g.Node(), g.Block.DefRange)
		for _, i := range g.Instances {
			s.Within(i, func() { s.openPhase(i) })
		}
	}
}

func (s *settling) cycle(node string, at hcl.Range) {
	from := 0
	for s.path[from] != node {
		from++
	}
	circle := append(append([]string(nil), s.path[from:]...), node)
	locals := true
	for _, n := range s.path[from:] {
		s.failed[n] = true
		locals = locals && strings.HasPrefix(n, "local.")
	}
	words := strings.Join(circle, " → ")
	if locals {
		s.Fail(at, "cycle", "Cycle of locals", "A local cannot depend on itself: %s. Break the cycle.", words)
		return
	}
	s.Fail(at, "repetition", "Cycle of for_each", "The blocks that exist cannot depend on themselves: %s. Base for_each on something else.", words)
}

var localsDoc = &lang.BlockDoc{
	Type: "locals", Times: plans.AnyTimes,
	Doc:  "Named values, read as `local.<name>`. They can be in any order and refer to each other, but not in a cycle.",
	Open: &plans.Attr{Name: "name", Type: plans.Anything, Doc: "Any expression."},
	Example: `locals {
  lengths = [512, 2048]
  longest = max(local.lengths...)
}`,
}

// declareLocals declares all locals, in whatever order they are written.
func (s *settling) declareLocals(all hcl.Blocks) map[string]*hcl.Attribute {
	locals := map[string]*hcl.Attribute{}
	for _, b := range all.OfType("locals") {
		attrs, diags := b.Body.JustAttributes()
		s.Diags = append(s.Diags, diags...)
		var list []*hcl.Attribute
		for _, a := range attrs {
			list = append(list, a)
		}
		sort.Slice(list, func(i, j int) bool { return list[i].Range.Start.Byte < list[j].Range.Start.Byte })
		for _, a := range list {
			if s.declare("local", a.Name, nil, a.NameRange) {
				locals[a.Name] = a
			}
		}
	}
	return locals
}

// local evaluates one local. It keeps the marks of what it is computed from.
func (s *settling) local(name string) {
	a := s.locals[name]
	s.values[name] = cty.DynamicVal
	s.values[name], _ = s.Marked(a.Expr)
}

// declare notes a name and reports whether it is new.
func (s *settling) declare(kind, key string, b *hcl.Block, at hcl.Range) bool {
	n := s.Symbols.Of(kind)
	if first := n.ByKey[key]; first != nil {
		s.Fail(at, "duplicate-name", "Duplicate "+kind, "The %s %q is already declared %s. Names are unique; rename or remove one.", kind, key, lang.SeenAt(first.At, at))
		return false
	}
	n.ByKey[key] = &eval.Symbol{At: at, Block: b}
	n.Order = append(n.Order, key)
	return true
}

// phaseBlock is a phase whose features are known before anything refers to them.
type phaseBlock struct {
	block    *hcl.Block
	features []*featureBlock
	// written is how many feature blocks it has.
	written int
	first   bool
}

type featureBlock struct {
	*eval.Instance
	first bool
}

// declareNames is the first pass: the names of variables, which no expression
// can change.
func (s *settling) declareNames(all hcl.Blocks) {
	for _, b := range all.OfType("variable") {
		s.CheckName(b, 0, 0)
		s.declare(b.Type, b.Labels[0], b, b.LabelRanges[0])
	}
}

// nameUses is where rules use the names of a block type.
var nameUses = map[string]lang.NameUse{
	"workload": lang.InRules | lang.FirstInRules, "target": lang.InRules, "imported": lang.InRules, "phase": lang.InRules, "feature": lang.InRules,
}

// declareGroup declares the blocks that one block has made.
func (s *settling) declareGroup(g *eval.Group) {
	b := g.Block
	label := len(b.Labels) - 1
	if g.Repeated() {
		s.CheckName(b, label, 0)
		if first := s.Groups.ByKey(g.Kind, g.Key); first != g {
			s.Fail(b.LabelRanges[label], "duplicate-name", "Duplicate "+g.Kind, "The %s %q is already declared %s. Names are unique; rename or remove one.", g.Kind, g.Key, lang.SeenAt(first.Block.LabelRanges[label], b.LabelRanges[label]))
		}
	}
	for _, i := range g.Instances {
		s.CheckName(i.Block, label, nameUses[g.Kind])
		first := s.declare(g.Kind, strings.Join(i.Block.Labels, "."), i.Block, b.LabelRanges[label])
		ph := s.phases[i]
		if ph == nil {
			continue
		}
		ph.first = first
		for _, f := range ph.features {
			s.CheckName(f.Block, 0, lang.InRules)
			f.first = s.declare("feature", f.Block.Labels[0], f.Block, f.Block.LabelRanges[0])
		}
	}
}

// openPhase makes the features of a phase. What else is in its body is read, and what is
// wrong with it reported, when the phase is decoded.
func (s *settling) openPhase(i *eval.Instance) {
	ph := &phaseBlock{block: i.Block}
	s.phases[i] = ph
	schema := *s.Schema(phaseDoc)
	schema.Blocks = append(slices.Clone(schema.Blocks), hcl.BlockHeaderSchema{Type: lang.DynamicType, LabelNames: []string{"type"}})
	before := s.Diags
	content := s.Content(i.Block.Body, &schema, "")
	s.Diags = before
	written := content.Blocks.OfType("feature")
	ph.written = len(written)
	for _, fb := range written {
		g := s.Groups.ByKey("feature", fb.Labels[0])
		if g == nil {
			g = &eval.Group{Kind: "feature", Key: fb.Labels[0], Block: fb}
			s.Groups.Add(g)
		}
		for _, made := range s.instances(g, fb, i) {
			ph.features = append(ph.features, &featureBlock{Instance: made})
			g.Instances = append(g.Instances, made)
		}
	}
}

// newGroup notes a block that others may refer to; nil for any other. A second
// block of a name has no node of its own, and is reported when it is declared.
func (s *settling) newGroup(b *hcl.Block) *eval.Group {
	if !eval.IsReferable(b.Type) || b.Type == "feature" {
		return nil
	}
	if b.Type == "engine" {
		s.checkKind(b)
	}
	g := &eval.Group{Kind: b.Type, Key: strings.Join(b.Labels, "."), Block: b}
	if s.Groups.ByKey(b.Type, g.Key) != nil {
		g.Instances = []*eval.Instance{{Block: b}}
		if b.Type == "phase" {
			s.openPhase(g.Instances[0])
		}
		return g
	}
	s.Groups.Add(g)
	return g
}

// checkKind reports an engine of an unknown kind, and makes it one of the kind that was
// meant: the mistake is reported here, and what refers to the engine by the right name is
// none.
func (s *settling) checkKind(b *hcl.Block) {
	given, known := b.Labels[0], lang.KeysOf(s.kinds)
	if slices.Contains(known, given) {
		return
	}
	s.Fail(b.LabelRanges[0], "unknown-kind", "Unknown engine kind", "There is no engine kind %q.%s", given, s.DidYouMean(given, known))
	if kind := lang.Nearest(given, known); kind != "" {
		b.Labels = []string{kind, b.Labels[1]}
	}
}
