package verdict

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/stats"

	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestText: the forms in which a text has its values.
func TestText(t *testing.T) {
	values := []Arg{
		Text("path", "x/y"), Text("by", "log"), Num("took", 1.2345, "s"), Span("span", 0.571, 0.782, "share"),
		Num("p", 0.00204, "p"),
		List("names", []string{"a", "b", "c"}), Int("one", 1), Int("many", 3), Num("is", 0.10003, "ratio"),
		Num("wanted", 0.1, "ratio"),
		Num("rough", 2.9, "share"), Text("empty", ""), Text("braces", `{path} {"a": {`),
	}
	cause := Say("engine.diagnosed", "out of memory")
	for text, want := range map[string]string{
		"{subject} {verdict}":                       "s fail",
		"{subject} {verdict:did}":                   "s failed",
		"{path} {path:q} {none}.":                   `x/y "x/y" .`,
		"{took} {took:2} {span:2} {p}":              "1.23 s 1.2 s 57% to 78% 0.00204",
		"{names} {names:and} {names:2}":             "a, b, c a, b and c a, b and 1 more",
		"{one|launch|launches} {many|try|tries}":    "1 launch 3 tries",
		"{is~wanted} {wanted~is}":                   "+10.003% +10.000%",
		"{rough:rough}":                             "290%",
		"{none?a {path}}{none!b {path}}{empty!c}":   "b x/yc",
		"{path? ({path}{none!, {by}})}":             " (x/y, log)",
		"{by=log?the log}{by=engine?no}{by=x!yes}":  "the logyes",
		"{cause=engine.diagnosed?{causes}; }{path}": "out of memory; x/y",
		"{causes:list}":                             "out of memory",
		"{{path} {{":                                "{path} {",
		"{braces}":                                  `{path} {"a": {`,
		"not {closed":                               "not {closed",
	} {
		r := Say("test", text, values...).On("s").Is(Fail).From(cause)
		if !strings.Contains(text, "{causes") {
			want += ": out of memory"
		}
		must.Equal(t, text, r.String(), want)
		data, err := json.Marshal(r)
		var back Reason
		if err != nil || json.Unmarshal(data, &back) != nil || back.String() != want {
			t.Errorf("%s read back says %q, want %q", data, back, want)
		}
	}
}

// TestSwap: every sentence goes through it, including those of causes, until it is restored.
func TestSwap(t *testing.T) {
	r := Say("not_measured", "not measured").From(Say("broken", "{error}", Text("error", "no")))
	restore := Swap(func(k code.Kind, sentence string) string { return "<" + string(k) + ">" + sentence })
	if got, want := r.String(), "<not_measured>not measured: <broken>no"; got != want {
		t.Errorf("swapped: %q, want %q", got, want)
	}
	restore()
	if got, want := r.String(), "not measured: no"; got != want {
		t.Errorf("restored: %q, want %q", got, want)
	}
}

// TestTextsNameWhatIsGiven reads the sources: a kind has one text, and a text that is
// written where its values are names no other.
func TestTextsNameWhatIsGiven(t *testing.T) {
	form := regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`)
	texts := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var parts []ast.Expr
			inline := false
			switch n := n.(type) {
			case *ast.CallExpr:
				name := called(n)
				if inline = name == "Say" && !n.Ellipsis.IsValid(); name == "Say" || name == "code.Of" {
					parts = n.Args
				}
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "Fact" {
					parts = n.Elts
				}
			}
			if len(parts) < 2 || literal(parts[0]) == "" || literal(parts[1]) == "" {
				return true
			}
			kind, text := literal(parts[0]), literal(parts[1])
			at := files.Position(n.Pos())
			if was, twice := texts[kind]; twice && was != text {
				t.Errorf("%s: another text of kind %s", at, kind)
			}
			texts[kind] = text
			if !form.MatchString(kind) {
				t.Errorf("%s: %q is not how kinds are written", at, kind)
			}
			if left := (Reason{Kind: code.Kind(kind), Text: text}).fill(text); strings.ContainsAny(left, "{}") {
				t.Errorf("%s: %q has a brace too many", at, text)
			}
			if !inline {
				return true
			}
			var given []string
			for _, arg := range parts[2:] {
				call, ok := arg.(*ast.CallExpr)
				if !ok {
					return true // a value made elsewhere
				}
				switch name := called(call); name {
				case "Err", "Line":
					given = append(given, "error")
				case "Text", "Num", "Int", "List", "Span", "Dur", "Millis":
					given = append(given, literal(call.Args[0]))
				default:
					return true
				}
			}
			for _, name := range named(text) {
				if !slices.Contains(given, name) &&
					!slices.Contains([]string{"subject", "verdict", "causes", "cause", "comparison"}, name) {
					t.Errorf("%s: the text names {%s}, which is not given", at, name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || len(texts) < 300 {
		t.Fatal(len(texts), "texts", err)
	}
}

// named are the values that a text has, but for those that it can do without.
func named(text string) (names []string) {
	for _, m := range regexp.MustCompile(`\{([a-z0-9_]+)([}:|~])`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, "{"+m[1]+"?") && !strings.Contains(text, "{"+m[1]+"!") {
			names = append(names, m[1])
		}
	}
	return names
}

// called is the name of what is called.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if id, ok := f.X.(*ast.Ident); ok && id.Name != "verdict" {
			return id.Name + "." + f.Sel.Name
		}
		return f.Sel.Name
	}
	return ""
}

// literal is a text written in the sources, in parts or whole.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	}
	return ""
}

// TestSameAnswers: several requests with one answer are told once.
func TestSameAnswers(t *testing.T) {
	answer := func(request int, excerpt string) Reason {
		return New(code.AnswerGarbage, Int("request", request), Text("excerpt", excerpt)).
			From(Say("text.broken", "broken"))
	}
	r := New(code.AnswersWorse, Int("answers", 72), Int("of", 72), Text("cell", "chat"),
		Text("other", "baseline")).On("wip")
	got := r.From(answer(0, "xx"), answer(1, "xx"), answer(2, "yy"), answer(3, "xx")).String()
	want := `answers of wip to chat are worse than those of baseline (72 of 72): request 0: broken ("xx"); request 2: broken ("yy")`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		f    float64
		unit string
		want string
	}{
		{0, "GB", "0 GB"},
		{math.Copysign(0, -1), "", "0"},
		{0.00004369, "GB", "0 MB"},
		{0.001, "s", "0.001 s"},
		{0.0123456, "s", "0.0123 s"},
		{31.677, "tok/s", "31.7 tok/s"},
		{999.96, "ms", "1,000 ms"},
		{2449.83, "tok/s", "2,450 tok/s"},
		{123456789, "tokens", "123,456,789 tokens"},
		{1e300, "ms", "1e+300 ms"},
		{3, "count", "3"},
		{1, "share", "100%"},
		{2.0 / 3, "share", "66.7%"},
		{0.1, "ratio", "+10%"},
		{-0.0001, "ratio", "-0.01%"},
		{31.59, "ratio", "33×"},
	} {
		must.Equal(t, fmt.Sprint(c.f, " ", c.unit), Number(c.f, c.unit), c.want)
	}
	for _, c := range []struct {
		a, b float64
		unit string
		want string
	}{
		{0.0996, 0.1, "ratio", "+9.96% and +10.00%"},
		{0.1, 0.1, "ratio", "+10% and +10%"},
		{-0.00001, 0, "ratio", "-0.001% and 0%"},
		{0.98999, 0.99, "share", "98.999% and 99%"},
		{31.999, 32, "tok/s", "31.999 tok/s and 32 tok/s"},
		{1.5, 1.5 + 4e-14, "s", "1.5 s and 1.50000000000004 s"},
		{100, math.Nextafter(100, 101), "tok/s", "100 tok/s and 100 tok/s"},
	} {
		a, b := FormatDistinct(c.a, c.b, c.unit)
		must.Equal(t, "got", a+" and "+b, c.want)
	}
}

func TestPlusMinus(t *testing.T) {
	for std, want := range map[float64]string{
		0: "57.9 ± 0", 1234.5: "57.9 ± 1,235", 99.4: "57.9 ± 99",
		0.2134: "57.85 ± 0.21", 0.0123: "57.854 ± 0.012",
	} {
		must.Equal(t, std, PlusMinus(57.854, std), want)
	}
}

func TestInterval(t *testing.T) {
	low, high := 0.98, 1.0567
	for unit, want := range map[string]string{
		"times": "1.02× [0.98×, 1.06×]", "tok/s": "1.02 tok/s [0.98, 1.06]",
		"ratio": "+102% [+98%, +106%]",
	} {
		must.Equal(t, unit, Interval(1.02, &low, &high, unit), want)
	}
	must.Equal(t, "without bounds", Interval(1.02, nil, &high, "ms"), "1.02 ms")
}

func TestP(t *testing.T) {
	for _, c := range []struct {
		p        float64
		want, is string
	}{
		{0, "< 0.000001", "p < 0.000001"},
		{5.4e-25, "< 0.000001", "p < 0.000001"},
		{0.00000189, "0.000002", "p = 0.000002"},
		{0.000066, "0.000066", "p = 0.000066"},
		{0.002041, "0.00204", "p = 0.00204"},
		{0.04834, "0.0483", "p = 0.0483"},
		{0.999, "0.999", "p = 0.999"},
		{0.9995, "> 0.999", "p > 0.999"},
		{1, "> 0.999", "p > 0.999"},
		{math.NaN(), "NaN", "p = NaN"},
	} {
		must.Equal(t, c.p, P(c.p), c.want)
		must.Equal(t, c.p, PIs(c.p), c.is)
	}
}

func TestPLevel(t *testing.T) {
	for level, want := range map[float64]string{
		0.002: "0.002", 0.015: "0.015", 0.005: "0.005", 0.015 / 4: "0.00375", 0.015 / 8: "0.001875",
		0.002 / 3: "0.0006667", 0.0395: "0.0395", 0.002 / 160: "0.0000125", 0: "0",
	} {
		must.Equal(t, level, PLevel(level), want)
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		x        float64
		decimals int
		want     string
	}{
		{0.382, 1, "+38.2%"},
		{-0.03, 1, "-3.0%"},
		{-0.0004, 1, "-0.04%"},
		{-0.000325774, 1, "-0.03%"},
		{0.00049, 1, "+0.05%"},
		{0.005, 0, "+0.5%"},
		{-0.0000004, 1, "+0.0%"},
		{-0.0000004, 5, "-0.00004%"},
		{math.Copysign(0, -1), 1, "+0.0%"},
		{1e6, 1, "+1.0e+08%"},
		{-1, 1, "-100.0%"},
		{-53.739, 1, "-5373.9% (54.7 times as much)"},
	} {
		must.Equal(t, fmt.Sprint(c.x, " ", c.decimals), Percent(c.x, c.decimals), c.want)
	}
}

func TestExact(t *testing.T) {
	for text, want := range map[string]string{
		"+10.0%": "+10%", "-0.50%": "-0.5%", "+100%": "+100%",
		"+1.0e+11%": "+1.0e+11%", "10.0 GB": "10.0 GB", "pass": "pass",
	} {
		must.Equal(t, text, bare(text), want)
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		what, want string
	}{
		{0, "error", "0 errors"},
		{1, "process", "1 process"},
		{2, "process", "2 processes"},
		{1, "launch", "1 launch"},
		{8, "launch", "8 launches"},
		{0, "launch", "0 launches"},
		{3, "case", "3 cases"},
	} {
		if got := Count(c.n, c.what); got != c.want || c.what == "launch" && Launches(c.n) != got {
			t.Errorf("%d %s: %q, want %q", c.n, c.what, got, c.want)
		}
	}
}

// TestWider: the bound on whose side an error rate is shared lies farther out.
func TestWider(t *testing.T) {
	all, one := Share{ShareAll, 2}, Share{ShareAlternatives, 3}
	for _, c := range []struct {
		test Test
		want string
	}{
		{Test{More: true, Share: []Share{all}}, "upper bound wider: false fail divided among 2 conditions"},
		{Test{Share: []Share{all}}, "lower bound wider: false fail divided among 2 conditions"},
		{Test{More: true, Share: []Share{one}}, "lower bound wider: false pass divided among 3 alternatives"},
		{Test{Share: []Share{one}}, "upper bound wider: false pass divided among 3 alternatives"},
		{Test{}, ""},
	} {
		must.Equal(t, c.want, strings.Join(Lines(c.test.Wider()), "; "), c.want)
	}
}

// TestCrashesAlikeAreOne: of launches that broke in one way the first is named, however long each took.
func TestCrashesAlikeAreOne(t *testing.T) {
	crash := func(launch, how string) Reason {
		return New(code.CrashIs).On(launch).From(Say("launch.broke", "{error}", Text("error", how)))
	}
	all := Say("crashed", "crashed: {causes}").From(crash("q-1", "ended 60ms after its start"),
		crash("q-2", "ended 33ms after its start"), crash("q-3", "out of memory"))
	must.Equal(t, "causes", all.String(), "crashed: q-1: ended 60ms after its start; q-3: out of memory")
}

// TestLess: what a time fell by has no sign, and its bounds are rounded outward; nothing else has it.
func TestLess(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	text, least, most, fell := Less(-0.7631, at(-0.8612), at(-0.5849), "ms")
	must.Equal(t, "a time", fmt.Sprint(text, " ", least, " ", most, " ", fell), "76% less time 58% 87% true")
	for name, c := range map[string]struct {
		change float64
		high   *float64
		unit   string
	}{"a speed": {-0.5, nil, "tok/s"}, "risen": {0.5, nil, "ms"}, "perhaps": {-0.5, at(0.1), "ms"}} {
		if text, _, _, fell := Less(c.change, at(-0.9), c.high, c.unit); fell {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestByLaunches: a line says by which launches it is, where others were made, and a name of several words
// does not turn its number round.
func TestByLaunches(t *testing.T) {
	is, low, high := -0.27, -0.4, 0.13
	for want, c := range map[string]struct {
		name string
		n    int
	}{
		"decode -27% (≥ +50%, at most +13%)":                               {"decode", 6},
		"decode -27% (≥ +50%, at most +13%, by the first 4 of 6 launches)": {"decode", 4},
		"decode did not regress: -27% (≥ +50%, at most +13%)":              {"decode did not regress", 6},
	} {
		test := &Test{
			Form: Ratio, Relation: "gain", More: true, Threshold: 0.5, Estimate: &is, Low: &low, High: &high,
			Against: "baseline", Values: make([]float64, 6), Base: make([]float64, 7), Looks: []stats.Look{{N: c.n}},
		}
		r := Rule{Name: c.name, Verdict: Fail, Comparisons: []Comparison{{Verdict: Fail, Test: test}}}
		if got := r.Brief(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
