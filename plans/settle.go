package plans

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/zclconf/go-cty/cty"
)

// settling finds out which blocks a plan has. Locals may refer to blocks, and
// for_each decides by locals which blocks there are, so both are evaluated in
// the order of what they need: each node when another one asks for it.
type settling struct {
	l      *loader
	locals map[string]*hcl.Attribute
	values map[string]cty.Value
	// done and open are nodes that have been, or are being, visited: "local.x",
	// "workload.chat", and "features" for what all phases hold.
	done, open map[string]bool
	path       []string
	// failed is set when a node is on a circle, which has been reported.
	failed map[string]bool
}

// settle evaluates all locals and makes all blocks, and declares their names.
func (l *loader) settle(all hcl.Blocks) []*group {
	s := &settling{
		l: l, values: map[string]cty.Value{}, locals: l.declareLocals(all),
		done: map[string]bool{}, open: map[string]bool{}, failed: map[string]bool{},
	}
	l.settling, l.inputs.locals = s, s.locals
	var generated []*group
	for _, b := range all {
		if g := l.newGroup(b); g != nil {
			generated = append(generated, g)
		}
	}
	for _, name := range l.symbols.of("local").order {
		s.visit("local."+name, l.symbols["local"].byKey[name].at)
	}
	for _, g := range generated {
		s.visit(g.node(), g.block.DefRange)
	}
	s.visit("features", l.start())
	for _, g := range generated {
		l.declareGroup(g)
	}
	return generated
}

// closeScope makes every block visible, now that it is known which there are.
func (l *loader) closeScope() {
	locals := l.settling.values
	l.settling = nil
	l.ctx.Variables["local"] = cty.ObjectVal(locals)
	for _, kind := range referable {
		l.ctx.Variables[kind] = l.groups.object(kind, nil, true)
	}
}

// need settles what an expression names, and brings nothing else into scope: a
// plan of many locals does not build the object of all of them for each.
func (s *settling) need(uses []hcl.Traversal) bool {
	locals := map[string]cty.Value{}
	wanted := map[string][]string{}
	ok := true
	for _, t := range uses {
		root := t.RootName()
		name, static := stepName(t, 1)
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
		case isReferable(root):
			key := ""
			if kind := name; static && root == "engine" {
				name, static = stepName(t, 2)
				key = kind + "." + name
			} else if static {
				key = name
			}
			if !static || s.l.groups.byKey(root, key) == nil {
				key = "" // it may be any of them
			}
			wanted[root] = append(wanted[root], key)
			if key != "" {
				ok = s.visit(root+"."+key, at) && ok
				continue
			}
			for _, g := range s.l.groups.of[root] {
				ok = s.visit(g.node(), at) && ok
			}
		}
	}
	// Only now, since visiting others has used the same scope.
	scope := s.l.ctx.Variables
	scope["local"] = cty.ObjectVal(locals)
	for root, keys := range wanted {
		all := slices.Contains(keys, "")
		scope[root] = s.l.groups.object(root, keys, all)
	}
	return ok
}

// visit settles one node; false where it cannot be, which has been reported.
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
		if g := s.l.groups.byKey(kind, key); g != nil {
			s.l.within(nil, func() { g.instances = s.l.instances(g, g.block, nil) })
		}
	}
	return !s.failed[node]
}

// features opens the phases, whose bodies hold them.
func (s *settling) features() {
	for _, g := range s.l.groups.of["phase"] {
		s.visit(g.node(), g.block.DefRange)
		for _, i := range g.instances {
			s.l.within(i, func() { s.l.openPhase(i) })
		}
	}
}

// expand settles what the dynamic blocks right in a body need.
func (s *settling) expand(body hcl.Body, schema *hcl.BodySchema) bool {
	uses, _ := dynblock.WalkExpandVariables(body).Visit(schema)
	return s.need(uses)
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
		s.l.fail(at, "Cycle of locals", "A local cannot depend on itself: %s. Break the circle.", words)
		return
	}
	s.l.fail(at, "Cycle of for_each", "Which blocks there are cannot depend on themselves: %s. Take for_each or count from something else.", words)
}

func isReferable(word string) bool { return slices.Contains(referable, word) }
