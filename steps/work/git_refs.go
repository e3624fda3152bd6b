package work

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

var gitTagKind = gitKind(
	"Tags a commit, so the state before a port can be found again. A tag already at that commit is left alone; one "+
		"at another commit fails the step.",
	`step "git_tag" "backup" {
  repo = "~/projects/vllm"
  name = "before-mxfp4"
}`,
	func() gitAction { return &gitTag{} },
	plans.Attrs(gitTag{}),
)

type gitTag struct {
	Name    string `hcl:"name" filled:"true" doc:"Name of the tag."`
	From    string `hcl:"from,optional" default:"HEAD" filled:"true" doc:"The commit to tag: a branch, a tag, a SHA."`
	Message string `hcl:"message,optional" doc:"Makes it an annotated tag with this message."`
}

func (c *gitTag) do(ctx context.Context, r *source.Repo) (string, []verdict.Reason, error) {
	if err := goodName(ctx, r, c.Name); err != nil {
		return "", nil, err
	}
	want, err := r.Commit(ctx, c.From)
	if err != nil {
		return "", nil, err
	}
	is := tip(ctx, r, "refs/tags/"+c.Name)
	switch {
	case is == want:
		return want, refChange("tag "+c.Name, code.RefAlready, at(ctx, r, want)), nil
	case is != "":
		return "", nil,
			&source.Error{
				Reason: fmt.Sprintf("tag %s is at %s, but %s is %s: use another name, or remove it (git tag -d %s)",
					c.Name, named(ctx, r, is), c.From, named(ctx, r, want), c.Name),
			}
	}
	args := []string{"tag"}
	if c.Message != "" {
		args = append(args, "--annotate", "--message="+c.Message)
	}
	if _, err := r.Run(ctx, append(args, "--end-of-options", c.Name, want)...); err != nil {
		return "", nil, err
	}
	return want, refChange("tag "+c.Name, code.RefMade, at(ctx, r, want)), nil
}

func (c *gitTag) holds(ctx context.Context, r *source.Repo, goal string) verdict.Reason {
	switch is := tip(ctx, r, "refs/tags/"+c.Name); is {
	case goal:
		return verdict.Reason{}
	case "":
		return verdict.New(code.RefGone, verdict.Text("was", source.Short(goal))).On("tag " + c.Name)
	default:
		return verdict.New(code.RefMoved, verdict.Text("before", source.Short(goal)),
			verdict.Text("after", source.Short(is))).On("tag " + c.Name)
	}
}

var gitBranchKind = gitKind(
	"Fetches the start of a branch, makes the branch and checks it out. A branch with that commit in its history is "+
		"left as it is; any other is not moved, and the step fails. If uncommitted changes are in the way, it fails "+
		"and names them.",
	`step "git_branch" "vllm" {
  repo = "~/projects/vllm"
  from = "pull/31740/head"
  name = "mxfp4_v2"
}`,
	func() gitAction { return &gitBranch{} },
	plans.Attrs(gitBranch{}),
)

type gitBranch struct {
	Name     string `hcl:"name" filled:"true" doc:"Name of the branch."`
	From     string `hcl:"from" filled:"true" doc:"Its start: branch, tag, SHA, 'upstream/main' or 'pull/31740/head'. The last two, a branch of a remote and a pull request of 'remote', are fetched. To fetch again, apply with '--rerun' and the step's address."`
	Remote   string `hcl:"remote,optional" default:"origin" filled:"true" doc:"The remote that has the pull request."`
	Checkout bool   `hcl:"checkout,optional" default:"true" doc:"Checks the branch out. Without that it is only made, for a 'source' block for instance, which has a worktree of its own."`
}

func (c *gitBranch) do(ctx context.Context, r *source.Repo) (string, []verdict.Reason, error) {
	if err := goodName(ctx, r, c.Name); err != nil {
		return "", nil, err
	}
	want, err := c.start(ctx, r)
	if err != nil {
		return "", nil, err
	}
	head, on, err := r.Head(ctx)
	if err != nil {
		return "", nil, err
	}
	switching := c.Checkout && on != c.Name
	if switching {
		changed, err := r.Changed(ctx)
		if err == nil && len(changed) > 0 {
			err = &source.Error{Reason: "uncommitted changes in " + r.Top +
				" are in the way and were left unchanged; commit or stash them: " + source.FileList(changed)}
		}
		if err != nil {
			return "", nil, err
		}
	}
	reasons, err := c.point(ctx, r, want)
	if err != nil || !switching {
		return want, reasons, err
	}
	// git refuses if that would overwrite something uncommitted.
	if _, err := r.Run(ctx, "checkout", "--no-guess", c.Name, "--"); err != nil {
		return "", nil, err
	}
	return want, append(reasons, verdict.Say("git.switched",
		"{subject} switched from {from}{from!a detached HEAD} at {before} to {ref} at {at}",
		verdict.Text("from", on), verdict.Text("before", head), verdict.Text("ref", c.Name),
		at(ctx, r, tip(ctx, r, "refs/heads/"+c.Name))).On(r.Top)), nil
}

// point makes the branch, unless it has the commit.
func (c *gitBranch) point(ctx context.Context, r *source.Repo, want string) ([]verdict.Reason, error) {
	is := tip(ctx, r, "refs/heads/"+c.Name)
	switch {
	case is == want:
		return refChange("branch "+c.Name, code.RefAlready, at(ctx, r, want)), nil
	case is == "":
		none := strings.Repeat("0", len(want)) // it must not have been made meanwhile
		_, err := r.Run(ctx, "update-ref", "-m", "mxflow: branch from "+c.From, "refs/heads/"+c.Name, want, none)
		return refChange("branch "+c.Name, code.RefMade, verdict.Text("from", c.From), at(ctx, r, want)), err
	case contains(ctx, r, is, want):
		return refChange("branch "+c.Name, code.Of("git.ref.has",
			"{subject} is at {at}, which contains {commit} from {from}"),
			at(ctx, r, is), verdict.Text("commit", source.Short(want)), verdict.Text("from", c.From)), nil
	}
	return nil,
		&source.Error{
			Reason: fmt.Sprintf("branch %s is at %s, which does not contain %s from %s, and is not moved: use "+
				"another name, or move it yourself (git branch -f %[1]s %[5]s)",
				c.Name, named(ctx, r, is), named(ctx, r, want), c.From, source.Short(want)),
		}
}

// request matches forges' names for the commits of a pull or merge request.
var request = regexp.MustCompile(`^(?:refs/)?((?:pull|merge-requests)/[0-9]+/(?:head|merge))$`)

// start is the commit to start at, fetched if a remote has it. Local branches are left
// alone, and git does not prune what is on no branch of the remote.
func (c *gitBranch) start(ctx context.Context, r *source.Repo) (string, error) {
	out, err := r.Run(ctx, "remote")
	if err != nil {
		return "", err
	}
	remotes := strings.Fields(out)
	fetch := func(remote, from, to string) (string, error) {
		if _, err := r.Run(ctx, "fetch", "--no-tags", "--no-write-fetch-head", "--end-of-options", remote,
			"+"+from+":"+to); err != nil {
			return "", err
		}
		return r.Commit(ctx, to)
	}
	if m := request.FindStringSubmatch(c.From); m != nil {
		if !slices.Contains(remotes, c.Remote) {
			return "", &source.Error{
				Around: true,
				Reason: fmt.Sprintf("%s has no remote %q (it has %s): add it with git remote add, or correct the name",
					r.Top, c.Remote, cmp.Or(strings.Join(remotes, ", "), "none")),
			}
		}
		return fetch(c.Remote, "refs/"+m[1], "refs/mxflow/remotes/"+c.Remote+"/"+m[1])
	}
	if tip(ctx, r, "refs/heads/"+c.From) == "" {
		for _, remote := range remotes {
			if branch, ok := strings.CutPrefix(c.From, remote+"/"); ok && goodName(ctx, r, branch) == nil {
				return fetch(remote, "refs/heads/"+branch, "refs/remotes/"+remote+"/"+branch)
			}
		}
	}
	return r.Commit(ctx, c.From)
}

// contains reports whether commit is in the history of tip, or tip itself.
func contains(ctx context.Context, r *source.Repo, tip, commit string) bool {
	_, err := r.Run(ctx, "merge-base", "--is-ancestor", commit, tip)
	return err == nil
}

// tip is the commit of a ref by its full name; empty if there is none.
func tip(ctx context.Context, r *source.Repo, full string) string {
	commit, _ := r.Run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", full+"^{commit}")
	return commit
}

// goodName is what is wrong with a branch or tag name; nil if it is valid.
func goodName(ctx context.Context, r *source.Repo, name string) error {
	if _, err := r.Run(ctx, "check-ref-format", "--branch", name); err != nil || strings.HasPrefix(name, "-") ||
		strings.HasPrefix(name, "@{") {
		return &source.Error{Reason: fmt.Sprintf("%q is not a valid branch or tag name: see git help check-ref-format",
			name)}
	}
	return nil
}

func (c *gitBranch) holds(ctx context.Context, r *source.Repo, goal string) verdict.Reason {
	is := tip(ctx, r, "refs/heads/"+c.Name)
	switch {
	case is == "":
		return verdict.New(code.RefGone, verdict.Text("began", source.Short(goal))).On("branch " + c.Name)
	case !contains(ctx, r, is, goal):
		return verdict.Say("git.ref.lacks", "{subject} is at {at}, which no longer contains {commit}",
			verdict.Text("at", source.Short(is)), verdict.Text("commit", source.Short(goal))).On("branch " + c.Name)
	}
	if !c.Checkout {
		return verdict.Reason{}
	}
	head, on, err := r.Head(ctx)
	switch {
	case err != nil:
		return verdict.New(code.GitRefused, verdict.Err(err))
	case on != c.Name:
		return verdict.Say("git.off_branch", "{subject} is at {on?{on} }{commit}, no longer on branch {branch}",
			verdict.Text("on", on), verdict.Text("commit", source.Short(head)),
			verdict.Text("branch", c.Name)).On(filepath.Base(r.Top))
	}
	return verdict.Reason{}
}
