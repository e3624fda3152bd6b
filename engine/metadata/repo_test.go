package metadata

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout makes a git tree with one commit.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "mxfp4_v4"},
		{"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRepos(t *testing.T) {
	dir := checkout(t)
	state := func() (Repo, string) {
		var d Document
		q := Request{Engine: Host, SameFiles: true, Repos: map[string]string{"vllm": dir}}
		q.repos(context.Background(), &d)
		return d.Repos["vllm"], d.Missing["repos.vllm"]
	}
	clean, why := state()
	if why != "" || !sha.MatchString(clean.Commit) || clean.Branch != "mxfp4_v4" || clean.Dirty || clean.Diff != "" || clean.On != "engine" {
		t.Fatalf("%+v, %s", clean, why)
	}
	write(t, filepath.Join(dir, "new.py"), "1")
	untracked, _ := state()
	if !untracked.Dirty || untracked.Changes != 1 || untracked.Diff == "" {
		t.Errorf("untracked: %+v", untracked)
	}
	exec.Command("git", "-C", dir, "add", "new.py").Run()
	added, _ := state()
	write(t, filepath.Join(dir, "new.py"), "2")
	changed, _ := state()
	if added.Diff == changed.Diff || changed.Diff == untracked.Diff || changed.Commit != clean.Commit {
		t.Errorf("%+v\n%+v", added, changed)
	}

	// Where the engine lives there is no git, but the tree is a volume from here.
	var d Document
	q := Request{
		Repos:   map[string]string{"vllm": "/workspace/vllm", "other": "/workspace/vllm2", "none": "/nowhere"},
		Volumes: map[string]string{dir: "/workspace/vllm:ro", "cache": "/nowhere"},
		Engine:  func(context.Context, ...string) ([]byte, error) { return nil, exec.ErrNotFound },
	}
	q.repos(context.Background(), &d)
	if d.Repos["vllm"].On != "host" || d.Repos["vllm"].Diff != changed.Diff || len(d.Repos) != 1 {
		t.Errorf("got %+v", d.Repos)
	}
	if !strings.Contains(d.Missing["repos.other"], "/workspace/vllm2") || d.Missing["repos.none"] == "" {
		t.Errorf("missing: %v", d.Missing)
	}
}

func TestOnHost(t *testing.T) {
	q := Request{Volumes: map[string]string{"/data": "/models", "/data/deep": "/models/deep/", "volume": "/named", "~/x": "/home"}}
	for path, want := range map[string]string{
		"/models": "/data", "/models/a/b": "/data/a/b", "/models/deep/c": "/data/deep/c", "/models2/a": "", "/named/a": "", "/other": "",
		"/home/y": home("~/x") + "/y",
	} {
		if got, ok := q.onHost(path); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", path, got, ok)
		}
	}
	q = Request{SameFiles: true, Dir: "/plan"}
	if got, _ := q.onHost("models/a"); got != "/plan/models/a" {
		t.Errorf("got %q", got)
	}
}
