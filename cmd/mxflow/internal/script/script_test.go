package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans/redact"
)

// hostile are texts that a shell would take for something else.
var hostile = []string{
	"", " ", "a b", "it's", "'", "''", `"`, `\`, `\'`, `$HOME`, "${X:?}", "$(echo no)", "`echo no`", "a\nb", "\n", "a\n", "\t", "*", "?", "[a]", "~", "~/x",
	"#no", "-n", "--", "!", "!!", "a=b", "=", "&", "|", ";", "<x", ">x", "(a)", "{a,b}", "\\n", "%s", "é", "\u2028", "\x01\x7f", "\xff\xfe", "if", "'\\''",
}

func skipWithoutShell(t testing.TB) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh here")
	}
}

// FuzzShellQuoted: a shell gives back what was quoted, byte for byte.
func FuzzShellQuoted(f *testing.F) {
	skipWithoutShell(f)
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			t.Skip("no argument holds it")
		}
		out, err := exec.Command("sh", "-c", "printf '%s|' "+shell.Quote(text)+" x"+shell.Quote(text)).Output()
		if err != nil || string(out) != text+"|x"+text+"|" {
			t.Errorf("%q became %q, %v: %s", text, out, err, shell.Quote(text))
		}
	})
}

// envScript is a script that prints a variable and its arguments, each ended by |.
func envScript(t *testing.T, spec engine.Spec, shows bool, secrets ...string) string {
	t.Helper()
	spec.Command = append([]string{"sh", "-c", `printf '%s|' "$(pwd)" "$VALUE" "${GONE-gone}" "$@"`, "x"}, spec.Command...)
	r := &Recipe{Plan: "p", Variant: "v", Engine: "command.x", Spec: spec, Shows: shows}
	text, err := r.Write(redact.New(secrets), false)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func runScript(t *testing.T, text string, args []string, env ...string) (string, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sh")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", append(args, path)...)
	c.Env = append(os.Environ(), env...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	return string(out), said.String(), err
}

// TestScriptGivesWhatThePlanSays: environment, folder and arguments of a process,
// executed and sourced.
func TestScriptGivesWhatThePlanSays(t *testing.T) {
	skipWithoutShell(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "it's $HOME `x`")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, value := range hostile {
		spec := engine.Spec{Dir: dir, Env: map[string]string{"VALUE": value, "odd.name": value}, Unset: []string{"GONE"}, Command: slices.Clone(hostile)}
		want := strings.Join(append([]string{dir, value, "gone"}, hostile...), "|") + "|"
		text := envScript(t, spec, false)
		out, said, err := runScript(t, text, nil, "GONE=here")
		if err != nil || out != want {
			t.Fatalf("%q: %v %s\ngot  %q\nwant %q\n%s", value, err, said, out, want, text)
		}
	}
	text := envScript(t, engine.Spec{Dir: dir, Env: map[string]string{"VALUE": "1"}}, false)
	path := filepath.Join(t.TempDir(), "s.sh")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-c", `. "$1"; printf ' %s %s' "$VALUE" "$(pwd)"`, "x", path)
	c.Dir = "/"
	out, err := c.Output()
	if err != nil || !strings.HasSuffix(string(out), " 1 /") {
		t.Errorf("sourced: %q %v", out, err)
	}
}

// TestScriptFillsIn: what a launch fills in is a variable of the script, and a
// configuration file is written.
func TestScriptFillsIn(t *testing.T) {
	skipWithoutShell(t)
	spec := engine.Spec{
		Env: map[string]string{"VALUE": "http://h:{port}/"}, Command: []string{"--port={port}", "a'{port}'b"},
		Config: []byte("a: it's\nport: {port}\n"), ConfigName: "extra.yaml",
	}
	spec.Command = append(spec.Command, "{config}")
	text := strings.Replace(envScript(t, spec, false), `"$@"`, `"$@"; printf "%s|" "$(basename "$3")"; cat "$3"`, 1)
	out, said, err := runScript(t, text, nil, "MXFLOW_PORT=9123")
	if err != nil || !strings.Contains(out, "|http://h:9123/|gone|--port=9123|a'9123'b|") || !strings.HasSuffix(out, "extra.yaml|a: it's\nport: {port}\n") {
		t.Errorf("%v %s %q\n%s", err, said, out, text)
	}
}

// TestScriptLeavesSecretsOut: without them it ends with a message before anything
// is started, and nothing of them stands in it.
func TestScriptLeavesSecretsOut(t *testing.T) {
	skipWithoutShell(t)
	const secret = "hunter22-secret"
	for name, c := range map[string]struct {
		spec  engine.Spec
		asks  string
		given string
	}{
		"variable":         {engine.Spec{Env: map[string]string{"VALUE": "Bearer " + secret}}, "VALUE", "VALUE=Bearer " + secret},
		"secret by name":   {engine.Spec{Env: map[string]string{"HF_TOKEN": "hf_x"}}, "HF_TOKEN", "HF_TOKEN=hf_x"},
		"argument":         {engine.Spec{Command: []string{"--api-key=" + secret}}, "MXFLOW_SECRET_1", "MXFLOW_SECRET_1=--api-key=" + secret},
		"odd name":         {engine.Spec{Env: map[string]string{"odd.name": secret}}, "MXFLOW_SECRET_1", "MXFLOW_SECRET_1=" + secret},
		"configuration":    {engine.Spec{Command: []string{"{config}"}, Config: []byte("key: " + secret), ConfigName: "c.yaml"}, "MXFLOW_CONFIG", "MXFLOW_CONFIG=/dev/null"},
		"folder":           {engine.Spec{Dir: "/" + secret}, "MXFLOW_SECRET_1", "MXFLOW_SECRET_1=/"},
		"source, unbuilt":  {engine.Spec{Dir: "{source.vllm}", Sources: []*engine.Source{{Name: "vllm", Repo: "/r", Ref: "main", Commit: "abc"}}}, "MXFLOW_SOURCE_VLLM", "MXFLOW_SOURCE_VLLM=/"},
		"in a comment too": {engine.Spec{Dir: "{source.vllm}", Sources: []*engine.Source{{Name: "vllm", Repo: "/" + secret, Commit: "abc"}}}, "MXFLOW_SOURCE_VLLM", "MXFLOW_SOURCE_VLLM=/"},
	} {
		t.Run(name, func(t *testing.T) {
			text := envScript(t, c.spec, false, secret)
			if strings.Contains(text, secret) || strings.Contains(text, "hf_x") {
				t.Fatal(text)
			}
			out, said, err := runScript(t, text, nil)
			if err == nil || out != "" || !strings.Contains(said, c.asks) {
				t.Errorf("without: %v %q %q\n%s", err, out, said, text)
			}
			if out, said, err = runScript(t, text, nil, c.given); err != nil || out == "" {
				t.Errorf("with: %v %q %q\n%s", err, out, said, text)
			}
		})
	}
	shown := envScript(t, engine.Spec{Env: map[string]string{"VALUE": secret, "HF_TOKEN": "hf_x"}}, true, secret)
	if out, said, err := runScript(t, shown, nil); err != nil || !strings.Contains(out, "|"+secret+"|") {
		t.Errorf("--show-secrets: %v %q %s", err, out, said)
	}
}
