package steps

import (
	"context"
	"strings"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

var gitFetchKind = gitKind(
	"Fetches from a remote. Local branches and files stay as they are. What was fetched is kept: apply with `--rerun` and the step's address to fetch again.",
	`step "git_fetch" "upstream" {
  repo   = "~/projects/vllm"
  remote = "upstream"
  refs   = ["main", "pull/31740/head"]
}`,
	func(*Site) gitAction { return &gitFetch{} },
	plans.Attr{Name: "remote", Type: plans.String, Default: "origin", Doc: "Name of the remote."},
	plans.Attr{Name: "refs", Type: plans.Strings, Doc: "Branches of the remote, and pull requests such as `pull/31740/head`. Without it, all that the remote is configured to bring."},
	plans.Attr{Name: "tags", Type: plans.Bool, Default: false, Doc: "Fetches all tags too."},
)

type gitFetch struct {
	Remote string   `json:"remote"`
	Refs   []string `json:"refs"`
	Tags   bool     `json:"tags"`
}

func (c *gitFetch) do(ctx context.Context, r *git.Repo) (string, []verdict.Reason, error) {
	var branches, got []string
	var reasons []verdict.Reason
	for _, ref := range c.Refs {
		if !git.IsRequest(ref) {
			if err := r.GoodName(ctx, ref); err != nil {
				return "", nil, err
			}
			branches = append(branches, ref)
			continue
		}
		before := r.Fetched(ctx, c.Remote, ref)
		after, err := r.FetchRequest(ctx, c.Remote, ref)
		if err != nil {
			return "", nil, err
		}
		got = append(got, after)
		reasons = append(reasons, movedRef(c.Remote+" "+ref, before, after))
	}
	if len(branches) > 0 || len(c.Refs) == 0 || c.Tags {
		moved, err := r.Fetch(ctx, c.Remote, branches, c.Tags)
		if err != nil {
			return "", nil, err
		}
		for i, m := range moved {
			if i == 10 {
				reasons = append(reasons, verdict.New(code.AndMore, verdict.Int("more", len(moved)-i)))
				break
			}
			reasons = append(reasons, movedRef(strings.TrimPrefix(strings.TrimPrefix(m.Ref, "refs/remotes/"), "refs/tags/"), m.Before, m.After))
		}
	}
	for _, b := range branches {
		sha, err := r.Commit(ctx, "refs/remotes/"+c.Remote+"/"+b)
		if err != nil {
			return "", nil, err
		}
		got = append(got, sha)
	}
	if len(reasons) == 0 {
		reasons = didTo(c.Remote, code.NothingNew)
	}
	return strings.Join(got, ","), reasons, nil
}

func movedRef(name, before, after string) verdict.Reason {
	switch before {
	case after:
		return verdict.New(code.RefAlready, verdict.Text("at", after)).On(name)
	case "":
		return verdict.New(code.RefNew, verdict.Text("at", after)).On(name)
	}
	return verdict.New(code.RefMoved, verdict.Text("before", before), verdict.Text("after", after)).On(name)
}

// holds while the commits are there: what the remote has meanwhile is not asked.
func (c *gitFetch) holds(ctx context.Context, r *git.Repo, goal string) verdict.Reason {
	for _, sha := range strings.Split(goal, ",") {
		if sha != "" && !r.Has(ctx, sha) {
			return verdict.New(code.CommitGone).On(git.Short(sha))
		}
	}
	return verdict.Reason{}
}
