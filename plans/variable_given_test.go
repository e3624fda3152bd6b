package plans

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// writeFiles puts files into a fresh folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
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
		"plan.hcl":          "plan \"p\" {\n  summary = var.x\n}\nvariable \"x\" {\n  type    = string\n  default = \"default\"\n}\n",
		"a.auto.mxvars":     "x = \"a.auto\"\n",
		"b.auto.mxvars":     "# nothing for x\n",
		"c.mxvars":          "x = \"file c\"\n",
		"d.mxvars":          "x = \"file d\"\n",
		"sub/z.auto.mxvars": "x = \"elsewhere\"\n",
	})
	bare := writeFiles(t, map[string]string{"plan.hcl": "plan \"p\" {\n  summary = var.x\n}\nvariable \"x\" {\n  type    = string\n  default = \"default\"\n}\n"})
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
		res := Load(filepath.Join(test.dir, "plan.hcl"), testRegistry(), Options{Inputs: test.given, Env: fakeEnv(test.env)})
		if len(res.Diagnostics) > 0 {
			t.Error(res.text())
			continue
		}
		if v := res.Plan.Variables[0]; v.Value != test.want || v.From != test.from || res.Plan.Summary != test.want {
			t.Errorf("%v %v: got %v from %q, want %q from %q", test.env, test.given, v.Value, v.From, test.want, test.from)
		}
	}
}

func TestMistakesInVariables(t *testing.T) {
	const plan = `plan "p" {}
variable "threads" {
  type = number
}
variable "sizes" {
  type    = list(number)
  default = []
}
variable "port" {
  type = object({
    name  = string
    least = optional(number, 0.05)
  })
  default = { name = "x" }
}
variable "token" {
  type      = string
  default   = ""
  sensitive = true
}
variable "limit" {
  type     = number
  default  = 7
  nullable = false
}
`
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
		{"", "", []string{"threads=2", "sizes=[\"x\"]"}, "plan.hcl:5:1 Wrong type for variable"},
		{"", "", []string{"threads=2", "port={}"}, "plan.hcl:9:1 Wrong type for variable"},
		{"", "", []string{"threads=2", "token=abc"}, "plan.hcl:16:1 Sensitive value cannot be hidden"},
		{"f.mxvars", "threads = 2\nlimit = null\n", nil, ""},
		{"f.mxvars", "\nthreads = [1]\n", nil, "f.mxvars:2:11 Wrong type for variable"},
		{"f.mxvars", "threads = 2\ntoken = [\"secret-one\"]\n", nil, "f.mxvars:2:9 Wrong type for variable"},
		{"f.mxvars", "threads = 2\nthread = 3\n", nil, "f.mxvars:2:1 Unknown variable in f.mxvars"},
		{"f.auto.mxvars", "threads = 2\nthread = 3\n", nil, "f.auto.mxvars:2:1 Unknown variable in f.auto.mxvars"},
		{"f.mxvars", "threads = two\n", nil, "f.mxvars:1:11 Value is not constant | plan.hcl:2:1 Missing value for variable"},
		{"f.mxvars", "threads = 2\nlocals {}\n", nil, "f.mxvars:2:1 Unexpected \"locals\" block"},
		{"f.mxvars", "threads = \n", nil, "f.mxvars:1:11 Invalid expression | plan.hcl:2:1 Missing value for variable"},
		{"f.mxvars", "threads = 2\nsizes = [for x in [1] : x]\n", nil, "f.mxvars:1:1 Loop in a file of variables | plan.hcl:2:1 Missing value for variable"},
		{"f.mxvars", "threads = 2\nthreads = 3\n", nil, "f.mxvars:2:1 Attribute redefined"},
		{"f.mxvars", "threads = 2\nport = { least = 1 }\n", nil, "f.mxvars:2:8 Wrong type for variable"},
	} {
		files := map[string]string{"plan.hcl": plan}
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
		res := Load(filepath.Join(dir, "plan.hcl"), testRegistry(), Options{Inputs: given, Env: fakeEnv(nil)})
		var got []string
		for _, d := range res.DiagnosticsJSON() {
			got = append(got, strings.TrimSpace(strings.Join([]string{filepath.Base(d.File) + ":" + strconv.Itoa(d.Line) + ":" + strconv.Itoa(d.Column), d.Summary}, " ")))
		}
		for i, a := range got {
			for j := range got[:i] {
				if a < got[j] {
					got[i], got[j] = got[j], got[i]
				}
			}
		}
		if g := strings.Join(got, " | "); g != test.want {
			t.Errorf("%q %v:\n got %s\nwant %s\n%s", test.text, test.given, g, test.want, res.text())
		}
		if strings.Contains(res.text(), "secret-one") {
			t.Errorf("a secret is shown:\n%s", res.text())
		}
		if test.want == "" && res.Plan.Variables[4].Value != 7.0 && res.Plan.Variables[4].Value != nil {
			t.Errorf("limit is %v", res.Plan.Variables[4].Value)
		}
	}
}

func TestTypesOfVariables(t *testing.T) {
	const plan = `plan "p" {
  summary = jsonencode(var.ports)
}
variable "ports" {
  type = map(object({
    value = string
    least = optional(number, 0.05)
    tags  = optional(list(string), ["all"])
  }))
}
`
	res := LoadBytes("plan.hcl", []byte(plan), testRegistry(), Options{Inputs: []Given{{Var: `ports={ a = { value = "on" }, b = { value = "off", least = 1, tags = [] } }`}}})
	const want = `{"a":{"least":0.05,"tags":["all"],"value":"on"},"b":{"least":1,"tags":[],"value":"off"}}`
	if !res.OK() || res.Plan.Summary != want {
		t.Errorf("got %s\n%s", res.Plan.Summary, res.text())
	}
}
