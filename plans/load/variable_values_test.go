package load

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
)

// givenPlan is a plan with variables, and what it makes of them.
//
//go:embed testdata/plans/given.hcl
var givenPlan string

func TestInputsArePrivateWhereTheyMeetASecret(t *testing.T) {
	all := map[string]string{
		"MXFLOW_VAR_key": "correct horse", "MXFLOW_VAR_user": "kim",
		"MXFLOW_VAR_text": "some text", "HOST": "node7", "PASS": "battery",
	}
	for expr, want := range map[string]string{
		`env = { A = "${var.user}:${var.key}", B = var.text }`:               "var.key",
		`env = { A = sensitive("${local.name}") }`:                           "var.key var.user",
		`env = { A = sensitive(sha256(var.text)) }`:                          "var.key var.text",
		`env = { A = nonsensitive(sha256(var.key)), B = var.text }`:          "var.key",
		`env = { A = sensitive(env("PASS")), B = env("HOST") }`:              "env.PASS var.key",
		`env = { A = sensitive(upper(env(upper("pass")))), B = env("HOST")}`: "env.HOST env.PASS var.key var.text var.user",
		`args = [var.key, var.text]`:                                         "var.key",
		`args = [for k in ["a"] : sensitive("${k}${var.text}")]`:             "var.key var.text var.user",
		`env = { A = var.user == "kim" ? var.key : var.text }`:               "var.key",
	} {
		res := Bytes("plan.hcl", []byte(strings.Replace(givenPlan, "EXPR", expr, 1)), planstest.Registry(),
			Options{Env: fakeEnv(all)})
		if !res.OK() {
			t.Errorf("%s: %s", expr, planstest.Text(&res.Findings))
			continue
		}
		in := res.Inputs()
		must.Equal(t, expr, strings.Join(slices.Sorted(maps.Keys(in.Sealed)), " "), want)
		if in.Variables["user"] != `"kim"` || in.Variables["unused"] != "" {
			t.Errorf("%s: %v", expr, in.Variables)
		}
	}
}

// The recorded inputs make the same plan, whatever is given and set now; only private
// values are taken from the current environment.
func TestALoadComesOutAsAnother(t *testing.T) {
	src := strings.Replace(givenPlan, "EXPR",
		`env = { A = jsonencode([var.sizes, var.maybe, var.unused, var.text]), B = env("HOST", "none"), C = env("LATER", "none"), K = var.key }`, 1)
	then := map[string]string{
		"MXFLOW_VAR_key": "correct horse", "MXFLOW_VAR_text": "${a}\n\"b\" %{c} ä",
		"HOST": "node7",
	}
	load := func(opts Options) *Result {
		t.Helper()
		res := Bytes("plan.hcl", []byte(src), planstest.Registry(), opts)
		sound(t, res)
		return res
	}
	first := load(Options{Env: fakeEnv(then), Inputs: []Given{
		{Var: `sizes=[1, 0.1, 12345678901234567890.123456789]`},
		{Var: `maybe={ x = { a = 1 }, "y z" = { a = 2, b = "q" } }`},
	}})
	in := first.Inputs()
	as := &plans.Inputs{Variables: maps.Clone(in.Variables), Env: in.Env, Sealed: in.Sealed}
	delete(as.Variables, "key")
	now := map[string]string{
		"MXFLOW_VAR_key": "correct horse", "MXFLOW_VAR_text": "other", "MXFLOW_VAR_unused": "7",
		"HOST": "node8", "LATER": "set",
	}
	again := load(Options{As: as, Env: fakeEnv(now), Inputs: []Given{{Var: "sizes=[9]"}, {Var: "later=1"}}})
	if first.Plan.Digest() != again.Plan.Digest() {
		t.Errorf("%v\n%v", first.Plan.Engines[0].Env, again.Plan.Engines[0].Env)
	}
	must.Equal(t, "the key is", again.Plan.Engines[0].Env["K"], "correct horse")
	other := load(Options{As: &plans.Inputs{Sealed: map[string]string{"var.key": ""}}, Env: fakeEnv(now)})
	if got := other.Plan.Engines[0].Env; got["A"] != `[[],null,1,""]` || got["B"] != "none" {
		t.Errorf("defaults that were defaults: %v", got)
	}
	suites := "workload \"w\" {\n  prompt_tokens = 8\n  output_tokens = 8\n}\nsuite \"quick\" { workloads = " +
		"[workload.w] }\n"
	if res := Bytes("plan.hcl", []byte(src+suites), planstest.Registry(),
		Options{
			As: &plans.Inputs{Suite: "quick", Sealed: in.Sealed}, Suite: "none",
			Env: fakeEnv(now),
		}); res.Plan.Suite != "quick" || res.Inputs().Suite != "quick" {
		t.Errorf("the suite is %q: %s", res.Plan.Suite, planstest.Text(&res.Findings))
	}
	broken := Bytes("plan.hcl", []byte(src), planstest.Registry(),
		Options{
			As:  &plans.Inputs{Variables: map[string]string{"sizes": "[max(1, 2)]"}, Sealed: as.Sealed},
			Env: fakeEnv(now),
		})
	if broken.OK() || !strings.Contains(planstest.Text(&broken.Findings), "the record of the run") {
		t.Errorf("a record that holds more than values: %s", planstest.Text(&broken.Findings))
	}
}

// Files that file() reads belong to the plan, except for those that hold secrets.
func TestFilesThatWereRead(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"plan.hcl": "plan \"p\" {}\nengine \"embedded\" \"tiny\" {\n  env = { A = file(\"a.txt\"), B = " +
			"sensitive(trimspace(file(\"key.pem\"))), C = file(\"t.tpl\") }\n}\n",
		"a.txt": "open", "key.pem": "secret\n", "t.tpl": "a is ${a}",
	})
	res := Path(dir, planstest.Registry(), Options{})
	sound(t, res)
	var names []string
	for name := range res.ReadFiles() {
		names = append(names, name[len(dir)+1:])
	}
	if slices.Sort(names); strings.Join(names, " ") != "a.txt t.tpl" {
		t.Error(names)
	}
}

// writeFiles writes files into a fresh folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func fakeEnv(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

func TestTheLastSourceOfAVariableWins(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"plan.hcl": "plan \"p\" {\n  summary = var.x\n}\nvariable \"x\" {\n  type    = string\n  default = " +
			"\"default\"\n}\n" + anEngine,
		"a.auto.mxvars":     "x = \"a.auto\"\n",
		"b.auto.mxvars":     "# nothing for x\n",
		"c.mxvars":          "x = \"file c\"\n",
		"d.mxvars":          "x = \"file d\"\n",
		"sub/z.auto.mxvars": "x = \"elsewhere\"\n",
	})
	bare := writeFiles(t,
		map[string]string{"plan.hcl": "plan \"p\" {\n  summary = var.x\n}\nvariable \"x\" {\n  type    = string\n " +
			" default = \"default\"\n}\n" + anEngine})
	env := map[string]string{"MXFLOW_VAR_x": "env", "MXFLOW_VAR_unknown": "ignored"}
	c, d := Given{File: filepath.Join(dir, "c.mxvars")}, Given{File: filepath.Join(dir, "d.mxvars")}
	for _, test := range []struct {
		dir        string
		env        map[string]string
		given      []Given
		want, from string
	}{
		{bare, nil, nil, "default", "default"},
		{bare, env, nil, "env", "MXFLOW_VAR_x"},
		{dir, env, nil, "a.auto", "a.auto.mxvars"},
		{dir, env, []Given{c}, "file c", "--var-file " + c.File},
		{dir, env, []Given{c, d}, "file d", "--var-file " + d.File},
		{dir, env, []Given{d, c}, "file c", "--var-file " + c.File},
		{dir, env, []Given{{Var: "x=flag"}}, "flag", "--var"},
		{dir, env, []Given{{Var: "x=flag"}, c}, "file c", "--var-file " + c.File},
		{dir, env, []Given{c, {Var: "x=flag"}}, "flag", "--var"},
		{dir, env, []Given{{Var: "x=1"}, {Var: "x=2=3"}}, "2=3", "--var"},
		{bare, map[string]string{"MXFLOW_VAR_x": ""}, nil, "", "MXFLOW_VAR_x"},
	} {
		res := Path(filepath.Join(test.dir, "plan.hcl"), planstest.Registry(),
			Options{Inputs: test.given, Env: fakeEnv(test.env)})
		if len(res.Diagnostics) > 0 {
			t.Error(planstest.Text(&res.Findings))
			continue
		}
		if v := res.Plan.Variables[0]; v.Value != test.want || v.From != test.from || res.Plan.Summary != test.want {
			t.Errorf("%v %v: got %v from %q, want %q from %q", test.env, test.given, v.Value, v.From,
				test.want, test.from)
		}
	}
}

// variablesPlan declares variables of several types.
//
//go:embed testdata/plans/variables.hcl
var variablesPlan string

func TestMistakesInVariables(t *testing.T) {
	for _, test := range []struct {
		file, text string
		given      []string
		// want is file:line:column and summary of each diagnostic.
		want string
	}{
		{"", "", []string{"threads=2"}, ""},
		{"", "", nil, "plan.hcl:2:1 Missing value for variable"},
		{"", "", []string{"threads=many"}, "plan.hcl:2:1 Wrong type for variable"},
		{"", "", []string{"threads=2", "thread=3"}, "plan.hcl:1:1 Unknown variable in --var"},
		{"", "", []string{"threads=2", "sizes=1,2"}, "plan.hcl:5:1 Cannot read --var"},
		{"", "", []string{"threads=1e999999999"}, "plan.hcl:2:1 Wrong type for variable"},
		{"", "", []string{"threads=2", "sizes=[((("}, "plan.hcl:5:1 Cannot read --var"},
		{"", "", []string{"threads=2", "sizes=[1, var.threads]"}, "plan.hcl:5:1 Cannot read --var"},
		{"", "", []string{"threads=2", "sizes= "}, "plan.hcl:5:1 Cannot read --var"},
		{"", "", []string{"threads=2", "sizes=[\"x\"]"}, "plan.hcl:5:1 Wrong type for variable"},
		{"", "", []string{"threads=2", "port={}"}, "plan.hcl:9:1 Wrong type for variable"},
		{"", "", []string{"threads=2", "token=abc"}, "plan.hcl:16:1 Sensitive value cannot be hidden"},
		{"f.mxvars", "threads = 2\nlimit = null\n", nil, ""},
		{"f.mxvars", "\nthreads = [1]\n", nil, "f.mxvars:2:11 Wrong type for variable"},
		{"f.mxvars", "threads = 2\ntoken = [\"secret-one\"]\n", nil, "f.mxvars:2:9 Wrong type for variable"},
		{"f.mxvars", "threads = 2\nthread = 3\n", nil, "f.mxvars:2:1 Unknown variable in f.mxvars"},
		{"f.auto.mxvars", "threads = 2\nthread = 3\n", nil, "f.auto.mxvars:2:1 Unknown variable in f.auto.mxvars"},
		{
			"f.mxvars", "threads = two\n", nil,
			"f.mxvars:1:11 Value is not constant | plan.hcl:2:1 Missing value for variable",
		},
		{"f.mxvars", "threads = 2\nlocals {}\n", nil, "f.mxvars:2:1 Unexpected \"locals\" block"},
		{"f.mxvars", "threads = \n", nil, "f.mxvars:1:11 Invalid expression | plan.hcl:2:1 Missing value for variable"},
		{"f.mxvars", "threads = 2\nthreads = 3\n", nil, "f.mxvars:2:1 Attribute redefined"},
		{"f.mxvars", "threads = 2\nport = { least = 1 }\n", nil, "f.mxvars:2:8 Wrong type for variable"},
	} {
		files := map[string]string{"plan.hcl": variablesPlan + anEngine}
		if test.file != "" {
			files[test.file] = test.text
		}
		dir := writeFiles(t, files)
		var given []Given
		if test.file != "" && !strings.Contains(test.file, ".auto.") {
			given = append(given, Given{File: filepath.Join(dir, test.file)})
		}
		for _, v := range test.given {
			given = append(given, Given{Var: v})
		}
		res := Path(filepath.Join(dir, "plan.hcl"), planstest.Registry(), Options{Inputs: given, Env: fakeEnv(nil)})
		var got []string
		for _, d := range res.DiagnosticsJSON() {
			got = append(got, fmt.Sprintf("%s:%d:%d %s", filepath.Base(d.File), d.Line, d.Column, d.Summary))
		}
		slices.Sort(got)
		if g := strings.Join(got, " | "); g != test.want {
			t.Errorf("%q %v:\n got %s\nwant %s\n%s", test.text, test.given, g, test.want, planstest.Text(&res.Findings))
		}
		text := planstest.Text(&res.Findings)
		if empty := slices.Contains(test.given, "sizes= "); strings.Contains(text, "secret-one") ||
			empty != strings.Contains(text, "It is empty.") {
			t.Errorf("a secret is shown, or what is empty is not called so:\n%s", text)
		}
		if test.want == "" && res.Plan.Variables[4].Value != 7.0 && res.Plan.Variables[4].Value != nil {
			t.Errorf("limit is %v", res.Plan.Variables[4].Value)
		}
	}
}

// TestVariableLikeItsDefault: without a type, a number is given where the default is one.
func TestVariableLikeItsDefault(t *testing.T) {
	for _, c := range []struct {
		def, given string
		want       any
	}{
		{"1", "2", 2.0},
		{"1", "2.5", 2.5},
		{"1", "many", "many"},
		{"1", "1e999999999", "1e999999999"},
		{"false", "true", true},
		{"false", "yes", "yes"},
		{`"a"`, "2", "2"},
		{"null", "2", "2"},
		{"[1]", "2", "2"},
	} {
		res := Bytes("plan.hcl", []byte(`plan "p" {}
variable "v" {
  default = `+c.def+`
}
`+anEngine), planstest.Registry(), Options{Vars: map[string]string{"v": c.given}})
		if got := summaries(res); got != "" {
			t.Fatalf("%s, %s: %s", c.def, c.given, planstest.Text(&res.Findings))
		}
		must.Equal(t, fmt.Sprint(c.given, " ", c.def), res.Plan.Variables[0].Value, c.want)
	}
}

//go:embed testdata/plans/secrets.hcl
var secretPlan string

func loadSecret(token string) *Result {
	return Bytes("plan.hcl", []byte(secretPlan), planstest.Registry(), Options{
		Env:    fakeEnv(map[string]string{"MXFLOW_VAR_token": token, "FROM_ENV": "from the environment"}),
		Inputs: []Given{{Var: `db={ user = "bob", password = "pass word", tls = true }`}},
	})
}

func TestSecretsReachTheEngineAndNothingElse(t *testing.T) {
	res := loadSecret("first-second")
	sound(t, res)
	e := res.Plan.Engine("embedded.tiny")
	if e.Env["AUTH"] != "Bearer first-second" || e.Env["SET"] != "true" || e.Env["PASS"] != "pass word" ||
		e.Args[0] != "--token=first-second" {
		t.Errorf("%+v", e)
	}
	for _, want := range []string{
		"first-second", "Bearer first-second", "first", "second", "--token=first-second",
		"from the environment", "pass word",
	} {
		if !slices.Contains(res.Plan.Secrets(), want) {
			t.Errorf("%q is not among the secrets %q", want, res.Plan.Secrets())
		}
	}
	if slices.Contains(res.Plan.Secrets(), "true") {
		t.Error("true is a secret")
	}
	vars, err := json.Marshal(res.Plan.Variables)
	if err != nil || strings.Contains(string(vars), "first") || !strings.Contains(string(vars), `"Sensitive":true`) {
		t.Errorf("%s %v", vars, err)
	}
	if other := loadSecret("another-token-entirely"); other.Plan.Digest() != res.Plan.Digest() {
		t.Error("the digest gives the secret away to whoever tries values")
	}
}

func TestMessagesDoNotShowSecrets(t *testing.T) {
	for _, body := range []string{
		`validation {
    condition     = length(var.token) > 100
    error_message = "${var.token} is too short."
  }`,
		`type = number`,
		`type = list(string)`,
		`validation {
    condition     = tonumber(var.token) > 1
    error_message = "not a number"
  }`,
		`validation {
    condition     = var.token.missing
    error_message = "x"
  }`,
	} {
		src := "plan \"p\" {}\nvariable \"token\" {\n  sensitive = true\n  " + body +
			"\n}\nlocals {\n  a = jsondecode(var.token)\n  b = file(var.token)\n  c = { x = 1 }[var.token]\n  d = " +
			"regex(var.token, \"(\")\n}\n" +
			"workload \"w\" {\n  prompt_tokens = length(var.token) > 3 ? var.token : -1\n  output_tokens = var.token " +
			"+ 1\n  output_tokens = 1\n}\n"
		res := Bytes("plan.hcl", []byte(src), planstest.Registry(),
			Options{Env: fakeEnv(map[string]string{"MXFLOW_VAR_token": "(hunter2hunter2"})})
		shown := planstest.Text(&res.Findings) + fmt.Sprint(res.DiagnosticsJSON())
		if res.OK() || strings.Contains(shown, "hunter2") {
			t.Errorf("%s\nshows the secret:\n%s", body, shown)
		}
	}
}

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
		`replace("a1b22", "/[0-9]+/", "#")`:                                      "a#b#",
		`regex("v([0-9]+)", "gemm_v12")[0]`:                                      "12",
		`join(" ", flatten([["a"], ["b", ["c"]]]))`:                              "a b c",
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
		`try(try(try(tonumber("a"), tonumber("b")), file("none")), 4)`:           "4",
		`startswith("gemm_v1", "gemm") && endswith("gemm_v1", "v1")`:             "true",
		`length("héllo") + length([1, 2]) + length({ a = 1 })`:                   "8",
		`trimspace(file("words.txt"))`:                                           "one\ntwo",
		`file("sub/deep.txt")`:                                                   "deep",
		`env("SET_VARIABLE")`:                                                    "from outside",
		`env("UNSET_VARIABLE", "default")`:                                       "default",
		`join(",", sort(distinct(["b", "a", "b"])))`:                             "a,b",
		`merge({ a = 1 }, { a = 2 }).a`:                                          "2",
		`lookup({ a = 1 }, "b", 7)`:                                              "7",
		`coalesce(null, "x")`:                                                    "x",
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
		if text := strings.Join(strings.Fields(planstest.Text(&res.Findings)), " "); res.OK() ||
			!strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
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
