package scenario

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdJSONCount is
//
//	json-count N FILE[:PATH] [CONDITION...]
//
// N objects match all conditions. The objects are the lines of FILE (an event
// stream, or a ledger), or the elements of the list at PATH in the one JSON
// document that FILE holds; ":." is the document itself. N may be "some". A condition is
// path=text or path~regexp; what is absent is the empty text. In a list, a
// path asks for elements by name (decision.rows[embedded.fast].verdict=pass), for any of
// them (decision.reasons.*.kind=session.cut_off), or, where its order is the point, by
// position.
func cmdJSONCount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: json-count N FILE[:PATH] [CONDITION...]")
	}
	n := 0
	all := objects(ts, args[1])
	for _, object := range all {
		if matches(ts, object, args[2:]) {
			n++
		}
	}
	if want := args[0]; strconv.Itoa(n) != want && (want != "some" || n == 0) {
		var lines strings.Builder
		for _, object := range all {
			text, _ := json.Marshal(object)
			fmt.Fprintf(&lines, "%.300s\n", text)
		}
		ts.Fatalf("%d objects match, want %s, of:\n%s", n, want, &lines)
	}
}

// cmdJSONLines is
//
//	json-lines FILE
//
// Every line is a JSON object with a type.
func cmdJSONLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json-lines FILE")
	}
	for i, object := range objects(ts, args[0]) {
		if lookup(object, "type")[0] == "" {
			ts.Fatalf("line %d of %s has no type", i+1, args[0])
		}
	}
}

func objects(ts *testscript.TestScript, source string) []any {
	file, path, isList := strings.Cut(source, ":")
	text := ts.ReadFile(file)
	if isList {
		var document any
		ts.Check(json.Unmarshal([]byte(text), &document))
		if path == "." {
			return []any{document}
		}
		found := find([]any{document}, path)
		if len(found) == 1 {
			if list, ok := found[0].([]any); ok {
				return list
			}
		}
		ts.Fatalf("there is no list %s in %s", path, text)
	}
	var list []any
	for line := range strings.Lines(text) {
		// A line of the ledger goes on with a TAB and a hash; its first is a header.
		line, _, isLeaf := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if isLeaf && !strings.HasPrefix(line, "{") {
			continue
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%v in the line %q", err, line)
		}
		list = append(list, object)
	}
	return list
}

func matches(ts *testscript.TestScript, object any, conditions []string) bool {
	for _, c := range conditions {
		at := operator.FindStringIndex(c)
		if at == nil {
			ts.Fatalf("%q is not a condition", c)
		}
		path, want := c[:at[1]-1], c[at[1]:]
		holds := func(text string) bool { return text == want }
		if c[at[1]-1] == '~' {
			holds = regexp.MustCompile(want).MatchString
		}
		if !slices.ContainsFunc(lookup(object, path), holds) {
			return false
		}
	}
	return true
}

// operator ends where a condition's path does: at the first = or ~ outside of brackets.
var operator = regexp.MustCompile(`^(?:[^\[=~]|\[[^\]]*\])*[=~]`)

// lookup are the values at a path as text; the empty text where there is none.
func lookup(object any, path string) (texts []string) {
	for _, v := range find([]any{object}, path) {
		texts = append(texts, fmt.Sprint(v))
	}
	if texts == nil {
		return []string{""}
	}
	return texts
}

// steps are those of a path: a field, a position, or a name in brackets.
var steps = regexp.MustCompile(`\[[^\]]*\]|[^.\[]+`)

// named are the fields by which an element of a list is called.
var named = []string{"name", "node", "kind", "path", "feature", "variant", "what", "word", "pos"}

// find are the values at a path from each of the values at.
func find(at []any, path string) []any {
	for _, step := range steps.FindAllString(path, -1) {
		var next []any
		for _, v := range at {
			switch v := v.(type) {
			case map[string]any:
				next = append(next, v[strings.Trim(step, "[]")])
			case []any:
				i, err := strconv.Atoi(step)
				switch {
				case step == "*":
					next = append(next, v...)
				case err == nil && i < len(v):
					next = append(next, v[i])
				case step[0] == '[':
					for _, element := range v {
						fields, _ := element.(map[string]any)
						if slices.ContainsFunc(named, func(f string) bool { return fields[f] == step[1:len(step)-1] }) {
							next = append(next, element)
						}
					}
				}
			}
		}
		at = slices.DeleteFunc(next, func(v any) bool { return v == nil })
	}
	return at
}
