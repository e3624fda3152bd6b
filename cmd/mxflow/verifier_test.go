package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/runtime/store"
)

// recordCopy is a state directory that a test may damage.
type recordCopy struct {
	t      *testing.T
	dir    string
	ledger string
}

// forged are leaves as a ledger whose hashes are right, and its last root.
func forged(t *testing.T, leaves ...string) (text string, root tlog.Hash) {
	t.Helper()
	var hashes []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			out = append(out, hashes[i])
		}
		return out, nil
	})
	var b strings.Builder
	for i, leaf := range leaves {
		stored, err := tlog.StoredHashes(int64(i), []byte(leaf), read)
		must.Do(t, err)
		hashes = append(hashes, stored...)
		if root, err = tlog.TreeHash(int64(i)+1, read); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\t%s\n", leaf, root)
	}
	return b.String(), root
}

func (c *recordCopy) leaves() []string {
	c.t.Helper()
	var out []string
	for line := range strings.Lines(c.ledger) {
		leaf, _, _ := strings.Cut(line, "\t")
		out = append(out, leaf)
	}
	return out
}

// forge replaces the ledger by these leaves, with right hashes and, where a key is given,
// a checkpoint that it signed.
func (c *recordCopy) forge(key *signing.Key, leaves ...string) {
	c.t.Helper()
	text, root := forged(c.t, leaves...)
	c.write("ledger", text)
	if key != nil {
		signed, err := key.Sign(fmt.Appendf(nil, "mxflow-ledger/6\n%d\n%s\n", len(leaves), root))
		must.Do(c.t, err)
		c.write("ledger.checkpoint", string(signed))
	}
}

func (c *recordCopy) write(name, text string) { must.Write(c.t, filepath.Join(c.dir, name), text) }

// artifacts are the paths of all artifacts.
func (c *recordCopy) artifacts() []string {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.dir, "artifacts", "sha256", "??", "*"))
	if err != nil || len(found) < 2 {
		c.t.Fatalf("%d artifacts, %v", len(found), err)
	}
	return found
}

// edited is the first leaf with something in it, replaced.
func (c *recordCopy) edited(was, is string) []string {
	c.t.Helper()
	leaves := c.leaves()
	for i := len(leaves) - 1; i >= 0; i-- {
		if strings.Contains(leaves[i], was) {
			leaves[i] = strings.Replace(leaves[i], was, is, 1)
			return leaves
		}
	}
	c.t.Fatalf("no record has %s", was)
	return nil
}

// TestIndependentVerifier: a verifier in another language, written from
// docs/internals/audit-format.md, comes to the same answer as audit verify.
func TestIndependentVerifier(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine:", err)
	}
	dir, err := sessionsRecord()
	must.Do(t, err)
	key := userKey(t)
	stranger, err := signing.Open(filepath.Join(t.TempDir(), "stranger.key"))
	must.Do(t, err)
	whole := must.Read(t, filepath.Join(dir, "ledger"))
	lines := strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
	_, last, _ := strings.Cut(lines[len(lines)-1], "\t")
	size := fmt.Sprint(len(lines) - 1)
	older := func(c *recordCopy) { c.forge(key, c.leaves()[:len(lines)-2]...) }
	seed := regexp.MustCompile(`"draw":\{"seed":"[0-9a-f]`)
	edit := func(key *signing.Key, was, is string) func(*recordCopy) {
		return func(c *recordCopy) { c.forge(key, c.edited(was, is)...) }
	}
	fails := func(key *signing.Key) func(*recordCopy) { return edit(key, `"verdict":"pass"`, `"verdict":"fail"`) }
	nothing := func(*recordCopy) {}
	for i, c := range []struct {
		name  string
		do    func(*recordCopy)
		flags []string
		ok    bool
	}{
		{"nothing, with root and size", nothing, []string{"--root", last, "--size", size}, true},
		{"a verdict edited, hashes recomputed", fails(nil), nil, false},
		{"the same, against a root kept elsewhere", fails(key), []string{"--root", last}, false},
		{"the tail cut", func(c *recordCopy) { c.forge(nil, c.leaves()[:len(lines)-2]...) }, nil, false},
		{"an artifact gone", func(c *recordCopy) { remove(t, c.artifacts()[0]) }, nil, false},
		// The rest takes MXFLOW_TEST_LONG=1.
		{"nothing", nothing, nil, true},
		{"the same, signed by somebody else", fails(stranger), nil, false},
		{"the same, signed with the key", fails(key), nil, true},
		{"the tail cut, no checkpoint", func(c *recordCopy) {
			older(c)
			remove(t, filepath.Join(c.dir, "ledger.checkpoint"))
		}, nil, false},
		{"the tail cut, an older checkpoint", older, nil, true},
		{"the same, against a root", older, []string{"--root", last}, false},
		{"the same, against a size", older, []string{"--size", size}, false},
		{"a checkpoint of before", func(c *recordCopy) { older(c); c.write("ledger", c.ledger) }, nil, false},
		{"no line feed at the end", func(c *recordCopy) {
			c.write("ledger", strings.TrimSuffix(c.ledger, "\n"))
		}, nil, false},
		{"a leaf changed", func(c *recordCopy) {
			c.write("ledger", strings.Replace(c.ledger, `"ok":true`, `"ok":tru `, 1))
		}, nil, false},
		{"a record twice", func(c *recordCopy) {
			l := c.leaves()
			c.forge(key, append(l, l[len(l)-1])...)
		}, nil, false},
		{"a duplicate key", edit(key, `"type":"end"`, `"type":"end","type":"end"`), nil, false},
		{
			"a verdict that is none", edit(key, `"attempt":1,"verdict":"pass"`, `"attempt":1,"verdict":"passed"`), nil,
			false,
		},
		{"texts drawn from something else", func(c *recordCopy) {
			leaves := c.leaves()
			i := slices.IndexFunc(leaves, seed.MatchString)
			leaves[i] = seed.ReplaceAllString(leaves[i], `"draw":{"seed":"g`)
			c.forge(key, leaves...)
		}, nil, false},
		{"two artifacts exchanged", func(c *recordCopy) {
			found := c.artifacts()
			must.Do(t, errors.Join(os.Rename(found[0], found[0]+"-"), os.Rename(found[1], found[0]),
				os.Rename(found[0]+"-", found[1])))
		}, nil, false},
	} {
		if i >= 5 && os.Getenv("MXFLOW_TEST_LONG") == "" {
			break
		}
		copied := &recordCopy{t: t, dir: filepath.Join(t.TempDir(), store.DirName), ledger: whole}
		must.Do(t, os.CopyFS(copied.dir, os.DirFS(dir)))
		c.do(copied)
		args := append([]string{"--key", key.Public}, c.flags...)
		status, out, _ := mxflow(append([]string{"audit", "verify", "--json", "--state", copied.dir}, args...)...)
		verify := exec.Command(python, append([]string{"testdata/audit/verify.py", copied.dir}, args...)...)
		independent, _ := verify.Output()
		again := verify.ProcessState.ExitCode()
		if (status == 0) != c.ok || status != again {
			t.Errorf("%s: mxflow %d, verify.py %d, want ok %t\n%s%s", c.name, status, again, c.ok, out, independent)
			continue
		}
		if !c.ok {
			continue
		}
		var ours struct {
			Artifacts int
			Ledger    struct {
				Records int
				Root    string
			}
		}
		var theirs struct {
			Records, Artifacts int
			Root               string
		}
		must.Do(t, errors.Join(json.Unmarshal([]byte(out), &ours), json.Unmarshal(independent, &theirs)))
		if ours.Artifacts != theirs.Artifacts || ours.Ledger.Records != theirs.Records ||
			ours.Ledger.Root != theirs.Root {
			t.Errorf("%s: mxflow says %+v, verify.py %+v", c.name, ours, theirs)
		}
	}
}
