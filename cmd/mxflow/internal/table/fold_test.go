package table

import (
	"bytes"
	"fmt"
	"testing"
)

func TestFolding(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"short":         {"as it is\n\n", "as it is\n\n"},
		"a sentence":    {"one two three four five six seven eight ≥ 9\n", "one two three four five six seven\n  eight ≥ 9\n"},
		"a list":        {"- one two three four five six seven eight nine\n", "- one two three four five six seven\n  eight nine\n"},
		"a name":        {"  answer    \"The capital of France\" continues so\n", "  answer    \"The capital of France\"\n            continues so\n"},
		"an event":      {"[  12.6s] ports / leaks: stress fail: host memory\n", "[  12.6s] ports / leaks: stress\n          fail: host memory\n"},
		"a command":     {"  mxflow ab --a 'one command' --b 'another command'\n", "  mxflow ab --a 'one command' --b 'another command'\n"},
		"its own name":  {"mxflow 0.1.0, on arch amd64, cores 2, cpu EPYC\n", "mxflow 0.1.0, on arch amd64, cores\n  2, cpu EPYC\n"},
		"with one":      {"To decide between them: mxflow ab --a one --b two\n", "To decide between them:\n  mxflow ab --a one --b two\n"},
		"a log":         {"  | a line of a log that is longer than what stands here\n", "  | a line of a log that is longer than what stands here\n"},
		"not at an end": {"one two three four five six seven eight nine", "one two three four five six seven eight nine"},
		"other scripts": {"模型 模型 模型 模型 模型 模型 模型 模型 模型\n", "模型 模型 模型 模型 模型 模型 模型\n  模型 模型\n"},
	} {
		var b bytes.Buffer
		if _, err := fmt.Fprint(&Folding{To: &b, Width: 36}, c.text); err != nil || b.String() != c.want {
			t.Errorf("%s: %v\n%swant\n%s", name, err, b.String(), c.want)
		}
	}
	var b bytes.Buffer
	f := &Folding{To: &b, Width: 36}
	fmt.Fprint(f, "a prompt with its answer > ")
	fmt.Fprint(f, "one two three four five six seven eight\n")
	if b.String() != "a prompt with its answer > one two three four five six seven eight\n" {
		t.Errorf("%q", b.String())
	}
}
