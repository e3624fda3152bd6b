package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/planstest"
)

// TestFunctions evaluates expressions in a plan whose folder holds some files.
func TestFunctions(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"words.txt":    "one\ntwo\n",
		"greet.tmpl":   "Hello, ${name}!\n%{ for x in list ~}\n- ${upper(x)}\n%{ endfor ~}\n",
		"sub/deep.txt": "deep",
		"quotes.tmpl":  "say \"hi\" (${x}\n",
	})
	load := func(expr string, env map[string]string) *Result {
		src := "plan \"p\" {\n  summary = \"${" + expr + "}\"\n}\n"
		return Bytes(filepath.Join(dir, "plan.hcl"), []byte(src), planstest.Registry(), Options{Env: fakeEnv(env)})
	}
	for expr, want := range map[string]string{
		`abs(-3) + max([1, 5]...) + min(2, 9) + floor(1.9) + ceil(1.1)`:          "13",
		`pow(2, 10) + log(8, 2) + signum(-5) + parseint("ff", 16)`:               "1281",
		`format("%s-%03d", "a", 7)`:                                              "a-007",
		`join(",", formatlist("x%s", ["a", "b"]))`:                               "xa,xb",
		`replace("a.b.c", ".", "-")`:                                             "a-b-c",
		`replace("a1b22", "/[0-9]+/", "#")`:                                      "a#b#",
		`regex("v([0-9]+)", "gemm_v12")[0]`:                                      "12",
		`join(" ", flatten([["a"], ["b", ["c"]]]))`:                              "a b c",
		`length(setproduct(["a", "b"], [1, 2, 3]))`:                              "6",
		`join(",", [for p in setproduct(["a"], ["x", "y"]) : "${p[0]}${p[1]}"])`: "ax,ay",
		`zipmap(["a", "b"], [1, 2]).b`:                                           "2",
		`join(",", [for i in range(3) : tostring(i)])`:                           "0,1,2",
		`jsonencode({ b = [1, true], a = null })`:                                `{"a":null,"b":[1,true]}`,
		`jsondecode("{\"a\": [1, 2]}").a[1]`:                                     "2",
		`csvdecode("n,v\na,1\nb,2")[1].v`:                                        "2",
		`substr(sha256("abc"), 0, 8)`:                                            "ba7816bf",
		`base64encode("grüße")`:                                                  "Z3LDvMOfZQ==",
		`urlencode("a b&c")`:                                                     "a+b%26c",
		`formatdate("DD MMM YYYY", "2026-02-03T04:05:06Z")`:                      "03 Feb 2026",
		`timeadd("2026-02-03T04:05:06Z", "24h")`:                                 "2026-02-04T04:05:06Z",
		`try(jsondecode("{").x, "fallback")`:                                     "fallback",
		`can(jsondecode("{"))`:                                                   "false",
		`try(try(try(tonumber("a"), tonumber("b")), file("none")), 4)`:           "4",
		`startswith("gemm_v1", "gemm") && endswith("gemm_v1", "v1")`:             "true",
		`length("héllo") + length([1, 2]) + length({ a = 1 })`:                   "8",
		`trimspace(file("words.txt"))`:                                           "one\ntwo",
		`file("sub/deep.txt")`:                                                   "deep",
		`file("./sub/../sub/deep.txt")`:                                          "deep",
		`env("SET_VARIABLE")`:                                                    "from outside",
		`env("UNSET_VARIABLE", "default")`:                                       "default",
		`join(",", sort(distinct(["b", "a", "b"])))`:                             "a,b",
		`join(",", tolist(setsubtract(["a", "b"], ["b"])))`:                      "a",
		`merge({ a = 1 }, { a = 2 }).a`:                                          "2",
		`lookup({ a = 1 }, "b", 7)`:                                              "7",
		`coalesce(null, "x")`:                                                    "x",
		`strrev("abc")`:                                                          "cba",
		`indent(2, "a\nb")`:                                                      "a\n  b",
	} {
		res := load(expr, map[string]string{"SET_VARIABLE": "from outside"})
		if !res.OK() || res.Plan.Summary != want {
			t.Errorf("%s: got %q, want %q\n%s", expr, res.Plan.Summary, want, planstest.Text(&res.Findings))
		}
	}
	for expr, want := range map[string]string{
		`file("..")`:            "only files in the plan's folder",
		`file("sub")`:           "not a regular file",
		`env("UNSET_VARIABLE")`: `write env("UNSET_VARIABLE", "default")`,
		`timestamp()`:           "would differ at every load",
		`getenv("x")`:           "use env",
	} {
		res := load(expr, nil)
		if text := strings.Join(strings.Fields(planstest.Text(&res.Findings)), " "); res.OK() || !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("%s: no %q in\n%s", expr, want, text)
		}
	}
}

// TestFilesOutsideAreNotRead tries links out of the plan's folder.
func TestFilesOutsideAreNotRead(t *testing.T) {
	outside := writeFiles(t, map[string]string{"secret.txt": "outside"})
	dir := writeFiles(t, map[string]string{"in.txt": "inside"})
	for link, target := range map[string]string{
		"link.txt": filepath.Join(outside, "secret.txt"), "folder": outside, "fine.txt": "in.txt",
	} {
		must.Do(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	for path, want := range map[string]string{
		"link.txt": "", "folder/secret.txt": "", "fine.txt": "inside", filepath.Join(dir, "in.txt"): "",
	} {
		src := "plan \"p\" {\n  summary = file(\"" + filepath.ToSlash(path) + "\")\n}\n"
		res := Bytes(filepath.Join(dir, "plan.hcl"), []byte(src), planstest.Registry(), Options{})
		if res.OK() != (want != "") || res.Plan.Summary != want {
			t.Errorf("%s: %q\n%s", path, res.Plan.Summary, planstest.Text(&res.Findings))
		}
	}
}

func TestEveryFunctionIsDescribed(t *testing.T) {
	l := eval.NewScope("plan.hcl")
	for name, f := range l.Functions() {
		if f.Description() == "" {
			t.Errorf("%s has no description", name)
		}
	}
}
