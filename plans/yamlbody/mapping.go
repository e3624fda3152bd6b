package yamlbody

import "gopkg.in/yaml.v3"

// mapping reads the entries of a mapping, then what is merged into it.
func (b *builder) mapping(n *Node, y *yaml.Node, depth int) {
	n.Kind = Map
	seen := map[string]*Entry{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		yk, yv := y.Content[i], y.Content[i+1]
		if yk.Kind == yaml.ScalarNode && yk.Tag == "!!merge" && yk.Style&yaml.TaggedStyle == 0 {
			merges = append(merges, yk, yv)
			continue
		}
		key, value := b.build(yk, depth+1), b.build(yv, depth+1)
		n.weight.add(key.weight)
		n.weight.add(value.weight)
		if b.stopped || !b.isKey(key, yk) {
			continue
		}
		if first := seen[key.Text]; first != nil {
			b.twice = append(b.twice, problem(key.Range, "attribute-twice", "Duplicate key", "%q is already set on line %d. Merge the two, or remove one.", key.Text, first.Key.Range.Start.Line))
			continue
		}
		seen[key.Text] = &Entry{Key: key, Value: value}
		n.Entries = append(n.Entries, seen[key.Text])
	}
	for i := 0; i < len(merges) && !b.stopped; i += 2 {
		b.merge(n, seen, merges[i], b.build(merges[i+1], depth+1))
	}
	b.end(n, y, '}')
}

// isKey reports whether a key can be one, and the mistake if not.
func (b *builder) isKey(key *Node, y *yaml.Node) bool {
	if y.Style&yaml.TaggedStyle != 0 {
		return false // reported
	}
	if key.Kind == Scalar && key.IsText {
		return true
	}
	hint := ""
	if key.Kind == Scalar && key.Text != "" {
		hint = " Put it in quotes: " + `"` + key.Text + `".`
	}
	b.fail(key.Range, "yaml-shape", "Key is not text", "A key must be text, not %s.%s", b.describeKey(key), hint)
	return false
}

// merge adds the entries of << that the mapping itself lacks.
func (b *builder) merge(n *Node, seen map[string]*Entry, yk *yaml.Node, from *Node) {
	if b.stopped || from.refused {
		return
	}
	at := b.offset(yk.Line, yk.Column)
	sources := []*Node{from}
	if from.Kind == List {
		sources = from.Items
	}
	for _, source := range sources {
		if source.Kind != Map {
			b.fail(b.span(at, at+2), "yaml-alias", "Cannot merge", "<< takes an alias of a mapping, <<: *name, or a list of aliases. If << is meant as a key, put it in quotes.")
			return
		}
		for _, e := range source.Entries {
			if seen[e.Key.Text] != nil {
				continue
			}
			seen[e.Key.Text] = e
			n.Entries = append(n.Entries, e)
			n.weight.add(e.Key.weight)
			n.weight.add(e.Value.weight)
		}
	}
}
