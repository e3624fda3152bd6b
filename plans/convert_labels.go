package plans

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// blocksNode arranges the blocks of one type below its key: by their labels, if
// that keeps their order, and as a list otherwise.
func blocksNode(list []*item) *yaml.Node {
	if len(list) == 1 || grouped(list) {
		return nested(list, 0)
	}
	seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, i := range list {
		n := nested([]*item{i}, 0)
		if len(i.keys) == 0 {
			n.HeadComment = i.head
		}
		seq.Content = append(seq.Content, n)
	}
	return seq
}

// grouped reports whether the blocks can stand below their labels: each group of
// equal labels is in one place, and none is there twice.
func grouped(list []*item) bool {
	seen := map[string]bool{}
	for n, i := range list {
		if len(i.keys) == 0 {
			return false
		}
		for depth := range i.keys {
			path := strings.Join(i.keys[:depth+1], "\x00")
			before := ""
			if n > 0 && len(list[n-1].keys) > depth {
				before = strings.Join(list[n-1].keys[:depth+1], "\x00")
			}
			if seen[path] && (path != before || depth == len(i.keys)-1) {
				return false
			}
			seen[path] = true
		}
	}
	return true
}

// nested are blocks that share their first labels, below the others.
func nested(list []*item, depth int) *yaml.Node {
	if depth == len(list[0].keys) {
		return list[0].body
	}
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for from := 0; from < len(list); {
		to := from
		for to < len(list) && list[to].keys[depth] == list[from].keys[depth] {
			to++
		}
		key := textNode(list[from].keys[depth])
		if depth == len(list[from].keys)-1 {
			key.HeadComment = list[from].head
		}
		node.Content = append(node.Content, key, nested(list[from:to], depth+1))
		from = to
	}
	return node
}
