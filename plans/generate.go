package plans

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

const (
	// maxInstances is how many blocks one for_each or count may make, and
	// maxGenerated all of them together.
	maxInstances = 1000
	maxGenerated = 10000
)

// generates are the block types that for_each and count work on.
var generates = []string{"engine", "workload", "target", "phase", "feature"}

// keyForm is what may stand in an identifier, though not at its beginning.
var keyForm = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

var (
	repeatSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "for_each"}, {Name: "count"}}}
	nameSchema   = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "name"}}}
)

// instance is one block of the plan: as written, or made by for_each or count.
type instance struct {
	// block has the instance's own name as its last label.
	block *hcl.Block
	// keys lead from the name in the plan to the instance: none, one, or the
	// key of the phase and then the feature's own.
	keys []cty.Value
	// scope is what each and count mean in it.
	scope map[string]cty.Value
}

// repeat is one round of for_each or count.
type repeat struct {
	key   cty.Value
	scope map[string]cty.Value
}

// instances are the blocks that b makes. outer is the phase that a feature
// stands in.
func (l *loader) instances(g *group, b *hcl.Block, outer *instance) []*instance {
	own := &instance{block: b}
	if outer != nil {
		own.keys, own.scope = outer.keys, outer.scope
	}
	if !slices.Contains(generates, b.Type) {
		return []*instance{l.opened(own)}
	}
	what := fmt.Sprintf("%s %q", b.Type, b.Labels[len(b.Labels)-1])
	l.at(what, b.DefRange)
	content, body, diags := b.Body.PartialContent(repeatSchema)
	l.diags = append(l.diags, diags...)
	each, count := content.Attributes["for_each"], content.Attributes["count"]
	if each == nil && count == nil && len(own.keys) == 0 {
		return []*instance{l.opened(own)}
	}
	if l.made > maxGenerated {
		return nil // reported
	}
	rounds, ok := []repeat{{scope: own.scope}}, true
	switch {
	case each != nil && count != nil:
		ok = false
		l.fail(count.NameRange, "for_each and count", "A block is repeated by one of them. Remove count, or for_each.")
	case each != nil:
		g.empty = cty.MapValEmpty(referenceType)
		rounds, ok = l.forEach(each.Expr, own.scope)
	case count != nil:
		g.empty = cty.ListValEmpty(referenceType)
		rounds, ok = l.count(count.Expr, own.scope)
	}
	if !ok {
		l.doubt(b.Type)
		return nil
	}
	named, body, diags := body.PartialContent(nameSchema)
	l.diags = append(l.diags, diags...)
	name := named.Attributes["name"]
	var made []*instance
	for _, r := range rounds {
		i := &instance{keys: own.keys, scope: r.scope}
		if each != nil || count != nil {
			i.keys = append(append([]cty.Value(nil), own.keys...), r.key)
		}
		labels := append([]string(nil), b.Labels...)
		text, ok := l.instanceName(i, labels[len(labels)-1], name, b)
		if !ok {
			l.doubt(b.Type)
			break
		}
		labels[len(labels)-1] = text
		block := *b
		block.Labels, block.Body = labels, body
		i.block = &block
		l.groups.names[b.Type+"."+strings.Join(labels, ".")] = true
		made = append(made, l.opened(i))
	}
	if l.made += len(made); l.made > maxGenerated {
		l.fail(b.DefRange, "Too many blocks", "for_each and count make up to %d blocks in a plan. Split the effort into several plans.", maxGenerated)
		l.unordered = true
		l.doubt(b.Type)
		return nil
	}
	return made
}

// doubt notes that some blocks of a type could not be made, so that references to
// them are no mistakes of their own.
func (l *evalScope) doubt(kind string) {
	l.doubted[kind] = true
	if kind == "phase" {
		l.doubted["feature"] = true
	}
}

// instanceName is the label and the keys, unless the block says otherwise.
func (l *loader) instanceName(i *instance, label string, name *hcl.Attribute, b *hcl.Block) (text string, ok bool) {
	if name != nil {
		l.within(i, func() {
			v, fine := l.value(name.Expr, "A name")
			if ok = fine; ok {
				text, ok = l.asText(v, name.Expr.Range(), "name")
			}
		})
		return text, ok
	}
	text = label
	for _, k := range i.keys {
		key := keyText(k)
		if !keyForm.MatchString(key) {
			l.fail(b.DefRange, "Key cannot be part of a name", "What for_each makes is named %s_<key>, and the key %q is no identifier, as rules and references need. Use keys of letters, digits and underscores, or give the block a name of its own: name = \"%s_${…}\".", label, key, label)
			return "", false
		}
		text += "_" + key
	}
	return text, true
}

func keyText(k cty.Value) string {
	if k.Type() == cty.Number {
		n, _ := k.AsBigFloat().Int64()
		return strconv.FormatInt(n, 10)
	}
	return k.AsString()
}

// within runs decode with each and count as they are in an instance.
func (l *evalScope) within(i *instance, decode func()) {
	before := l.words
	var now map[string]cty.Value
	if i != nil {
		now = i.scope
	}
	l.setWords(now)
	defer l.setWords(before)
	decode()
}

func (l *evalScope) setWords(words map[string]cty.Value) {
	vars := l.ctx.Variables
	for word := range l.words {
		delete(vars, word)
	}
	for word, v := range words {
		vars[word] = v
		// each.value and count.index; each.key is within it.
		size, _ := sizeOf(v)
		l.sizes[word+".value"], l.sizes[word+".key"] = size, size
	}
	l.words = words
}
