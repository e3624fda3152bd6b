package plans

import (
	"bytes"
	"errors"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"gopkg.in/yaml.v3"
)

// yamlWriter turns the syntax tree of an HCL file into one of YAML, in the order
// of the text.
type yamlWriter struct {
	src    []byte
	tokens hclsyntax.Tokens
	// comments are those that have not found their place yet.
	comments []comment
}

func (w *yamlWriter) file(body *hclsyntax.Body, doc *BlockDoc) ([]byte, error) {
	root := w.body(body, doc, len(w.src))
	document := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}
	// The encoder puts some comments where they end what they stand in. What it
	// writes is read again, and comments are given up from the inside outwards.
	for _, keep := range []int{maxNesting, 6, 4, 2, 0} {
		withoutComments(document, keep)
		var b bytes.Buffer
		enc := yaml.NewEncoder(&b)
		enc.SetIndent(2)
		if err := errors.Join(enc.Encode(document), enc.Close()); err != nil {
			return nil, err
		}
		if again, err := oneDocument(b.Bytes()); err == nil && again != nil && sameYAML(again, document) {
			return spaced(b.Bytes()), nil
		}
	}
	return nil, errors.New("the YAML package cannot write one of its texts so that it reads it again")
}

// withoutComments takes the comments from what stands deeper than keep levels.
func withoutComments(n *yaml.Node, keep int) {
	if keep < 0 {
		n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	}
	for _, c := range n.Content {
		withoutComments(c, keep-1)
	}
}

// spaced puts an empty line before each block of a file.
func spaced(text []byte) []byte {
	var out []string
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for i, line := range lines {
		top := line != "" && line[0] != ' ' && line[0] != '-'
		if top && i > 0 && !strings.HasPrefix(lines[i-1], "#") && lines[i-1] != "" {
			out = append(out, "")
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, "\n") + "\n")
}

// item is an attribute or a block of a body.
type item struct {
	attr  *hclsyntax.Attribute
	block *hclsyntax.Block
	at    hcl.Range
	// keys are the labels of a block, body what it holds.
	keys []string
	body *yaml.Node
	// head and line are its comments.
	head, line string
}

// body writes a body that ends at an offset.
func (w *yamlWriter) body(body *hclsyntax.Body, doc *BlockDoc, end int) *yaml.Node {
	var items []*item
	for _, a := range body.Attributes {
		items = append(items, &item{attr: a, at: a.SrcRange})
	}
	for _, b := range body.Blocks {
		items = append(items, &item{block: b, at: b.Range()})
	}
	sort.Slice(items, func(i, j int) bool { return items[i].at.Start.Byte < items[j].at.Start.Byte })
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	blocks := map[string][]*item{}
	for _, i := range items {
		i.head = w.before(i.at.Start.Byte)
		if i.attr != nil {
			key, value := textNode(i.attr.Name), w.attribute(i.attr, doc)
			key.HeadComment = i.head
			value.LineComment = w.behind(i.attr.Expr.Range().End)
			node.Content = append(node.Content, key, value)
			continue
		}
		w.block(i, doc)
		if blocks[i.block.Type] == nil {
			// Its place is that of the first of its type.
			node.Content = append(node.Content, textNode(i.block.Type), nil)
		}
		blocks[i.block.Type] = append(blocks[i.block.Type], i)
	}
	for n := 0; n < len(node.Content); n += 2 {
		if key := node.Content[n]; node.Content[n+1] == nil {
			list := blocks[key.Value]
			if len(list) == 1 || n == 0 {
				// What stands before the only one, or begins the file, is about
				// all of them.
				key.HeadComment, list[0].head = list[0].head, ""
			}
			node.Content[n+1] = blocksNode(list)
		}
	}
	if rest := w.before(end); rest != "" {
		if n := len(node.Content); n > 0 {
			node.Content[n-2].FootComment = rest
		} else {
			node.HeadComment = rest
		}
	}
	return node
}

func (w *yamlWriter) block(i *item, doc *BlockDoc) {
	b := i.block
	kind := ""
	if len(b.Labels) > 0 {
		kind = b.Labels[0]
	}
	inner := doc.inside(b.Type, kind)
	if b.Type == dynamicType && doc != nil {
		inner = dynamicOf(doc.Block(kind))
	}
	i.line = w.behind(b.OpenBraceRange.End)
	i.keys, i.body = b.Labels, w.body(b.Body, inner, b.CloseBraceRange.Start.Byte)
	if after := w.behind(b.CloseBraceRange.End); after != "" {
		i.head = joinLines(i.head, after)
	}
	i.head = joinLines(i.head, i.line)
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
