package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
)

// TestSecretsAreNowhere applies a plan that leaks a secret wherever it can, and
// looks for it in everything that mxflow keeps and prints.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	for i, secret := range []string{
		`pa"ss\wörd <&>%41/+=`, "hf_0123456789abcdef", "1234", "two lines of it\nand another one",
	} {
		if i > 0 && !inFull() {
			break
		}
		dir := folder(t, map[string]string{"plan.hcl": try.Read(t, "testdata/plans/leaky.hcl")})
		var printed bytes.Buffer
		mxflow := func(wantExit int, args ...string) {
			got, out := program(t, dir, []string{"MXFLOW_VAR_token=" + secret}, args...)
			if got != wantExit {
				t.Errorf("%v: exit status %d\n%s", args, got, out)
			}
			printed.WriteString(out)
		}
		mxflow(0, "validate", "plan.hcl")
		mxflow(4, "apply", "plan.hcl")
		mxflow(4, "apply", "--json", "plan.hcl")
		mxflow(4, "apply", "--rerun", "all", "--var", "token="+secret, "plan.hcl")
		for _, args := range []string{
			"show latest", "audit", "status", "report", "audit verify", "plan plan.hcl",
		} {
			mxflow(0, strings.Fields(args)...)
			if args != "audit verify" {
				mxflow(0, append(strings.Fields(args), "--json")...)
			}
		}
		mxflow(1, "validate", "--var", "user=${", "--var", "token=", "--var", "tokn="+secret, "plan.hcl")
		mustNotHold(t, "output", printed.Bytes(), secret)
		files := 0
		err := filepath.WalkDir(filepath.Join(dir, ".mxflow"), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			mustNotHold(t, path, data, secret)
			return err
		})
		if err != nil || files < 5 {
			t.Errorf("%d files, %v", files, err)
		}
		if !bytes.Contains(printed.Bytes(), []byte("[redacted]")) {
			t.Errorf("nothing leaked, so nothing was tested:\n%s", printed.Bytes())
		}
	}
}

// mustNotHold looks for a secret as it is and as programs write it.
func mustNotHold(t *testing.T, where string, data []byte, secret string) {
	t.Helper()
	quoted, _ := json.Marshal(secret)
	for _, form := range []string{
		secret, string(quoted[1 : len(quoted)-1]), strings.Trim(strconv.Quote(secret), `"`), url.QueryEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("bob:" + secret)),
	} {
		if at := bytes.Index(data, []byte(form)); at >= 0 && len(form) >= 4 {
			// A short number may be part of a time.
			if secret == "1234" && form == secret && !bytes.Contains(data, []byte("token="+form)) && !bytes.Contains(data, []byte("Bearer "+form)) {
				continue
			}
			t.Errorf("%s holds %q: …%q…", where, form, data[max(0, at-60):min(len(data), at+len(form)+60)])
		}
	}
}
