package machine

import (
	"context"
	"os/exec"
	"path/filepath"
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

func TestRepos(t *testing.T) {
	dir := checkout(t)
	state := func() (Repo, string) {
		var d Document
		q := MetadataRequest{Engine: onHost, Repos: map[string]string{"vllm": dir}}
		Collect(context.Background(), q, &d)
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
}
