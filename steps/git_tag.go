package steps

import (
	"context"
	"fmt"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/plans"
)

var gitTagKind = gitKind(
	"Tags a commit, so that what was there before a port is found again. A tag that is there already at that commit is left alone; one at another commit is moved only with `force`.",
	`step "git_tag" "backup" {
  repo = "~/projects/vllm"
  name = "before-mxfp4"
}`,
	func(*Lab) gitAction { return &gitTag{} },
	plans.Attr{Name: "name", Type: plans.String, Required: true, Doc: "Name of the tag."},
	plans.Attr{Name: "from", Type: plans.String, Default: "HEAD", Doc: "The commit to tag: a branch, a tag, a SHA."},
	plans.Attr{Name: "message", Type: plans.String, Doc: "Makes it an annotated tag with this message."},
	plans.Attr{Name: "force", Type: plans.Bool, Default: false, Doc: "Moves a tag that is at another commit."},
)

type gitTag struct {
	Name    string `json:"name"`
	From    string `json:"from"`
	Message string `json:"message"`
	Force   bool   `json:"force"`
}

func (c *gitTag) do(ctx context.Context, r *git.Repo) (string, []string, error) {
	if err := r.GoodName(ctx, c.Name); err != nil {
		return "", nil, err
	}
	want, err := r.Commit(ctx, c.From)
	if err != nil {
		return "", nil, err
	}
	is := r.Tag(ctx, c.Name)
	switch {
	case is == want:
		return want, reason("tag %s is at %s already", c.Name, at(ctx, r, want)), nil
	case is != "" && !c.Force:
		return "", nil, &git.Error{Kind: git.InUse, Reason: fmt.Sprintf("tag %s is at %s, and %s is %s: take another name, or move it with force = true", c.Name, at(ctx, r, is), c.From, at(ctx, r, want))}
	}
	if err := r.CreateTag(ctx, c.Name, want, c.Message, is != ""); err != nil {
		return "", nil, err
	}
	if is != "" {
		return want, reason("tag %s moved from %s to %s", c.Name, at(ctx, r, is), at(ctx, r, want)), nil
	}
	return want, reason("tag %s made at %s", c.Name, at(ctx, r, want)), nil
}

func (c *gitTag) holds(ctx context.Context, r *git.Repo, goal string) string {
	switch is := r.Tag(ctx, c.Name); is {
	case goal:
		return ""
	case "":
		return fmt.Sprintf("tag %s is gone; it was at %s", c.Name, git.Short(goal))
	default:
		return fmt.Sprintf("tag %s moved from %s to %s", c.Name, git.Short(goal), git.Short(is))
	}
}
