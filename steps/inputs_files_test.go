package steps

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
)

// A file of which something ends up in a secret variable is in no record, however the
// plan takes it out of the file.
func TestFilesOfHaveNoSecrets(t *testing.T) {
	files := map[string]string{
		"a.txt": "hf_of_the_hub\n", "b.json": `{"user": "kim", "pass": "pass-of-the-store"}`, "c.txt": "colon-of-kim", "d.env": "HOST=here\nWORD=word-of-many\n",
		"e.txt": "of_th", "f.txt": "abc\n", "g.txt": "given \"sensitive\" one", "hf-token.txt": "by its name", "server.key": "by its ending",
		"unit.txt": "tok/s\n", "keys.txt": "no secret at all", "empty.txt": "",
	}
	const src = `plan "s" {}
locals { plain = [file("e.txt"), file("hf-token.txt"), file("server.key"), file("unit.txt"), file("keys.txt"), file("empty.txt")] }
engine "embedded" "tiny" {
  env = {
    HF_TOKEN   = trimspace(file("a.txt"))
    STORE_AUTH = "Basic ${jsondecode(file("b.json")).pass}"
    PROXY_AUTH = base64encode("kim:${file("c.txt")}")
    C_AUTH     = base64encode(file("c.txt"))
    D_SECRET   = "Bearer ${split("=", split("\n", file("d.env"))[1])[1]}"
    PIN_KEY    = trimspace(file("f.txt"))
    G          = sensitive(file("g.txt"))
    PLAIN      = join(" ", local.plain)
  }
}
`
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := filepath.Join(dir, "plan.hcl")
	if err := os.WriteFile(plan, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded := load.Path(plan, Registry(), load.Options{})
	if read := loaded.ReadFiles(); len(read) != len(files)-1 {
		t.Fatalf("read are %v: %v", slices.Sorted(maps.Keys(read)), loaded.Diagnostics)
	}
	var kept []string
	for name := range FilesOf(loaded) {
		kept = append(kept, filepath.Base(name))
	}
	slices.Sort(kept)
	if got := strings.Join(kept, " "); got != "empty.txt keys.txt unit.txt" {
		t.Errorf("kept are %s", got)
	}
}
