package scenario

import (
	"encoding/json"
	"fmt"
	"regexp"
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
// path=text or path~regexp; what is absent is the empty text.
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
		if lookup(object, "type") == "" {
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
		list, ok := find(document, path).([]any)
		if !ok {
			ts.Fatalf("there is no list %s in %s", path, text)
		}
		return list
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
		at := strings.IndexAny(c, "=~")
		if at < 0 {
			ts.Fatalf("%q is not a condition", c)
		}
		got := lookup(object, c[:at])
		if c[at] == '=' && got != c[at+1:] {
			return false
		}
		if c[at] == '~' && !regexp.MustCompile(c[at+1:]).MatchString(got) {
			return false
		}
	}
	return true
}

// lookup is the value at a path as text, empty where there is none.
func lookup(object any, path string) string {
	if v := find(object, path); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

func find(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}
