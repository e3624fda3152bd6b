package tell

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// TestJSON: every reason has its words beside its code, at any depth, and nothing else
// gains any.
func TestJSON(t *testing.T) {
	for name, c := range map[string]struct {
		v    any
		want string
	}{
		"causes": {
			verdict.New(code.Level).On("kernels").Is(verdict.Fail).From(verdict.New(code.Broken, verdict.Text("error", `a "brace" } in <it>`))),
			`{"code":"level","subject":"kernels","verdict":"fail","causes":[{"code":"broken","args":{"error":"a \"brace\" } in <it>"},"text":"a \"brace\" } in <it>"}],"text":"level kernels failed: a \"brace\" } in <it>"}`,
		},
		"in a list": {
			map[string]any{"reasons": []verdict.Reason{verdict.New(code.ShareTry, verdict.Int("n", 2))}},
			`{"reasons":[{"code":"argued.share_try","args":{"n":2},"text":"pass α of try 2"}]}`,
		},
		"a number": {
			verdict.New(code.OtherUnit, verdict.Num("unit", 1.5, "GB")).On("l"),
			`{"code":"target.other_unit","subject":"l","args":{"unit":{"value":1.5,"unit":"GB"}},"text":"launch l has  in 1.5 GB, the target is in "}`,
		},
		"not our code":  {map[string]any{"code": "none", "x": 1}, `{"code":"none","x":1}`},
		"more fields":   {map[string]any{"code": "level", "x": 1}, `{"code":"level","x":1}`},
		"in a text":     {map[string]any{"s": `{"code":"level"}`, "t": `\`}, `{"s":"{\"code\":\"level\"}","t":"\\"}`},
		"no reason":     {struct{ A *int }{}, `{"A":null}`},
		"a plain value": {3, `3`},
	} {
		got, err := JSON(c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got, c.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s is no JSON", name)
		}
	}
	if _, err := JSON(func() {}); err == nil {
		t.Error("a function has no JSON")
	}
}

// TestEveryPhraseFills: every phrase is filled to its end, even if all its arguments are
// missing.
func TestEveryPhraseFills(t *testing.T) {
	for c := range catalogue {
		if text := Line(verdict.Reason{Code: c}); strings.ContainsAny(text, "{}") {
			t.Errorf("%s says %q", c, text)
		}
	}
}
