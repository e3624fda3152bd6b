package yamlbody

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Format is a text in the standard layout: two spaces for each level, keys of the file in
// an order, one empty line between those. Only indentation and order change, so comments,
// quotes and empty lines stay. The text must have been parsed without an error. If the
// result would not mean the same, the error says which line is the reason.
func Format(text []byte, order []string) ([]byte, error) {
	for range 4 { // what a change allows to change comes next
		out, err := format(text, order)
		if err != nil || bytes.Equal(out, text) {
			return out, err
		}
		text = out
	}
	return nil, errors.New("it has no standard layout: write its texts and brackets on one line each")
}

func format(text []byte, order []string) ([]byte, error) {
	f, unix := &formatter{}, strings.ReplaceAll(string(text), "\r\n", "\n")
	if strings.ContainsAny(unix, "\r\u0085\u2028\u2029") { // which YAML counts as lines
		return nil, errors.New("it has line breaks other than those of Unix and Windows")
	}
	for line := range strings.SplitSeq(unix, "\n") {
		f.lines = append(f.lines, formatted{text: line, was: len(line) - len(strings.TrimLeft(line, " "))})
	}
	before, err := node(text)
	if err != nil {
		return nil, err
	}
	if len(before.Content) == 0 {
		return text, nil
	}
	if err := f.node(before.Content[0], 0); err != nil {
		return nil, err
	}
	f.follow()
	indented := f.text(nil)
	for _, out := range []string{f.text(order), indented} { // an alias may forbid another order
		after, err := node([]byte(out))
		if err == nil && sameNodes(before.Content[0], after.Content[0]) &&
			slices.Equal(content(string(text)), content(out)) {
			return []byte(out), nil
		}
	}
	return nil, errors.New("indented by two spaces, it would not mean the same")
}

func node(text []byte) (*yaml.Node, error) {
	n := &yaml.Node{}
	err := yaml.Unmarshal(text, n)
	return n, err
}

// content are the lines of a text without what is around them, in alphabetical order.
func content(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// sameNodes reports whether two mappings have the same content, in any order.
func sameNodes(a, b *yaml.Node) bool {
	entries := func(n *yaml.Node) map[string]*yaml.Node {
		all := map[string]*yaml.Node{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			all[n.Content[i].Value] = n.Content[i+1]
		}
		return all
	}
	was, is := entries(a), entries(b)
	if len(was) != len(is) || len(a.Content) != len(b.Content) {
		return false
	}
	for key := range was {
		if is[key] == nil || !reflect.DeepEqual(plainNode(was[key]), plainNode(is[key])) {
			return false
		}
	}
	return true
}

// plainNode is a node without places and comments.
func plainNode(n *yaml.Node) (out []any) {
	out = []any{n.Kind, n.Tag, n.Value, n.Anchor, n.Style}
	for _, inner := range n.Content {
		out = append(out, plainNode(inner))
	}
	return out
}

type formatter struct{ lines []formatted }

type formatted struct {
	text    string
	was, is int
	// begins is set if a key or an element begins on the line, inside if it belongs to a
	// text over several lines, whose white space counts.
	begins, inside bool
}

// begin has what begins on a line (from 1) with this indentation. An element's content is
// one space behind its hyphen.
func (f *formatter) begin(line, indent int) {
	l := &f.lines[line-1]
	if l.begins || l.inside {
		return
	}
	l.begins, l.is = true, indent
}

// node gives the lines of a mapping or list in lines their indentation.
func (f *formatter) node(n *yaml.Node, indent int) error {
	if n.Style&yaml.FlowStyle != 0 {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			first := f.lines[key.Line-1].text
			if strings.HasPrefix(strings.TrimLeft(first, " "), "? ") {
				return fmt.Errorf("line %d: a key written with ? stays as it is: write key: value", key.Line)
			}
			f.begin(key.Line, indent)
			f.block(value, f.lines[key.Line-1].was)
			if err := f.node(value, indent+2); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			line := item.Line
			for line > 1 && !strings.HasPrefix(strings.TrimLeft(f.lines[line-1].text, " "), "-") {
				line-- // a hyphen on a line of its own
			}
			l := &f.lines[line-1]
			if !l.begins && !l.inside {
				rest := strings.TrimLeft(l.text[l.was+1:], " ")
				if rest != "" && strings.HasPrefix(l.text[l.was:], "-") {
					l.text = l.text[:l.was] + "- " + rest
				}
			}
			f.begin(line, indent)
			f.block(item, l.was)
			if err := f.node(item, indent+2); err != nil {
				return err
			}
		}
	}
	return nil
}

// block marks the lines of a text behind | or >, which are those indented more than what
// the text is of.
func (f *formatter) block(n *yaml.Node, of int) {
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		return
	}
	for i := n.Line; i < len(f.lines); i++ {
		l := &f.lines[i]
		if strings.TrimSpace(l.text) != "" && l.was <= of {
			break
		}
		l.inside = true
	}
	least := 1 << 20
	for i := n.Line; i < len(f.lines) && f.lines[i].inside; i++ {
		if strings.TrimSpace(f.lines[i].text) != "" {
			least = min(least, f.lines[i].was)
		}
	}
	header := f.lines[n.Line-1].text
	header, _, _ = strings.Cut(header[strings.LastIndexAny(header, "|>")+1:], "#")
	for i := n.Line; i < len(f.lines) && f.lines[i].inside && !strings.ContainsAny(header, "123456789"); i++ {
		f.lines[i].was += of + 2 - least // two spaces from what it is of, as if it had been so
	}
	for i := n.Line; i < len(f.lines) && f.lines[i].inside; i++ { // empty lines below it are not of it
		f.lines[i].inside = slices.ContainsFunc(f.lines[i:], func(l formatted) bool {
			return l.inside && strings.TrimSpace(l.text) != ""
		})
	}
}

// follow gives the other lines their indentation: what goes on from a line above moves with
// it, and a comment is indented as what it is about.
func (f *formatter) follow() {
	moved := 0
	for i := range f.lines {
		l := &f.lines[i]
		switch trimmed := strings.TrimSpace(l.text); {
		case l.begins:
			moved = l.is - l.was
		case trimmed == "":
		case l.inside || !strings.HasPrefix(trimmed, "#"):
			l.is = max(0, l.was+moved)
		default:
			l.is = f.comment(i)
		}
	}
}

// comment is the indentation of a comment: that of the next line, or of the one above it
// that began where it begins.
func (f *formatter) comment(i int) int {
	for _, next := range f.lines[i+1:] {
		if !next.begins {
			continue
		}
		if next.was == f.lines[i].was {
			return next.is
		}
		break
	}
	for j := i - 1; j >= 0; j-- {
		if l := f.lines[j]; l.begins && l.was <= f.lines[i].was {
			if l.was < f.lines[i].was {
				return l.is + 2
			}
			return l.is
		}
	}
	return 0
}

// text is the whole text, its parts in an order.
func (f *formatter) text(order []string) string {
	var parts [][]string // each begins with a key of the file, after its comments
	var keys []string
	var lines, comments []string
	add := func() {
		if len(lines) > 0 {
			parts = append(parts, lines)
			lines = nil
		}
	}
	for _, l := range f.lines {
		text := strings.TrimRight(strings.Repeat(" ", l.is)+strings.TrimLeft(l.text, " "), " \t\r")
		if l.inside {
			text = strings.Repeat(" ", l.is) + strings.TrimLeft(l.text, " ")
			if strings.TrimSpace(l.text) == "" {
				text = ""
			}
		}
		switch {
		case !l.inside && text == "" &&
			(len(keys)+len(comments) == 0 || slices.Equal(comments[max(0, len(comments)-1):], []string{""})):
			continue
		case !l.inside && (text == "" || strings.HasPrefix(text, "#") && l.is == 0):
			comments = append(comments, text)
			continue
		case l.begins && l.is == 0:
			if len(keys) == 0 { // what is above an empty line, or is for editors, is of the file
				at := 0
				for i, c := range comments {
					ends := c == "" && slices.ContainsFunc(comments[:i], func(c string) bool { return c != "" })
					if ends || strings.HasPrefix(c, "# yaml-language-server") {
						at = i + 1
						if c == "" {
							break
						}
					}
				}
				lines = append(lines, comments[:at]...)
				comments = comments[at:]
			}
			add()
			key, _, _ := strings.Cut(text, ":")
			keys = append(keys, strings.Trim(key, `"' `))
		}
		lines = append(lines, comments...)
		comments = nil
		lines = append(lines, text)
	}
	add()
	head := len(parts) - len(keys) // 1 if there is one
	var sorted []int
	for i := range keys {
		sorted = append(sorted, i)
	}
	slices.SortStableFunc(sorted, func(a, b int) int {
		return slices.Index(order, keys[a]) - slices.Index(order, keys[b])
	})
	var out []string
	if head == 1 {
		out = append(out, parts[0]...)
	}
	for n, i := range sorted {
		if n > 0 {
			out = append(out, "")
		}
		out = append(out, strings.TrimLeft(strings.Join(parts[head+i], "\n"), "\n"))
	}
	if len(comments) > 0 && len(keys) > 0 && comments[0] != "" {
		out = append(out, "")
	}
	out = append(out, comments...)
	return strings.TrimLeft(strings.TrimRight(strings.Join(out, "\n"), "\n"), "\n") + "\n"
}
