package metadata

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// gitLimit bounds one git command: the first status of a large tree reads all of it.
const gitLimit = time.Minute

var sha = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// repos reads the state of the source trees that the plan names: where the engine lives,
// or else on this machine, at the source of a volume.
func (q *Request) repos(ctx context.Context, d *Document) {
	for _, name := range keys(q.Repos) {
		path := q.Repos[name]
		repo, err := gitState(ctx, q.Engine, path)
		if err != nil {
			if host, ok := q.onHost(path); ok {
				var other error
				if repo, other = gitState(ctx, Host, host); other == nil {
					repo.On, err = "host", nil
				}
			}
		} else {
			repo.On = "engine"
		}
		if err != nil {
			d.Lack("repos."+name, fmt.Sprintf("git cannot read %s: %v", path, err))
			continue
		}
		if d.Repos == nil {
			d.Repos = map[string]Repo{}
		}
		d.Repos[name] = repo
	}
}

// onHost maps a path where the engine lives to this machine's; false if it is not from
// this machine.
func (q *Request) onHost(path string) (string, bool) {
	if q.SameFiles {
		path = home(path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(q.Dir, path)
		}
		return path, true
	}
	best, found := "", ""
	for host, inside := range q.Volumes {
		inside, _, _ = strings.Cut(inside, ":")
		inside = strings.TrimSuffix(inside, "/")
		rest, ok := strings.CutPrefix(path, inside)
		if inside == "" || !ok || rest != "" && rest[0] != '/' || len(inside) <= len(best) {
			continue
		}
		if host = home(host); filepath.IsAbs(host) {
			best, found = inside, filepath.Join(host, rest)
		}
	}
	return found, found != ""
}

func home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	return path
}

// gitState asks git. A tree of another user is read all the same: nothing in it is run.
func gitState(ctx context.Context, run Run, path string) (Repo, error) {
	git := func(args ...string) (string, error) {
		argv := append([]string{"git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-C", path}, args...)
		return run.text(ctx, gitLimit, argv...)
	}
	r := Repo{Path: path}
	commit, err := git("rev-parse", "--verify", "HEAD")
	if err != nil {
		return r, err
	}
	if r.Commit = strings.TrimSpace(commit); !sha.MatchString(r.Commit) {
		return r, fmt.Errorf("git answered %q for HEAD", brief(r.Commit))
	}
	if branch, err := git("rev-parse", "--abbrev-ref", "HEAD"); err == nil && strings.TrimSpace(branch) != "HEAD" {
		r.Branch = strings.TrimSpace(branch)
	}
	// --no-optional-locks: another git may be at work in the tree.
	status, err := git("--no-optional-locks", "status", "--porcelain", "-z", "--no-renames")
	if err != nil {
		return r, err
	}
	if status == "" {
		return r, nil
	}
	diff, err := git("diff", "--binary", "--no-ext-diff", "--no-textconv", "HEAD")
	if err != nil {
		return r, err
	}
	r.Dirty, r.Changes = true, strings.Count(status, "\x00")
	r.Diff = digest([]byte(status + "\x00" + diff))
	return r, nil
}
