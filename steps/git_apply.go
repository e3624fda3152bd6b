package steps

import (
	"context"
	"path/filepath"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

var gitApplyKind = gitKind(
	"Applies a patch file to the files of the repository, whole or not at all; nothing is committed. A patch that is applied already is left alone.",
	`step "git_apply" "tuning" {
  repo  = "~/projects/vllm"
  patch = "patches/moe-tiles.patch"
}`,
	func(l *Site) gitAction { return &gitApply{site: l} },
	plans.Attr{Name: "patch", Type: plans.String, Required: true, Doc: "The patch, as git diff or git format-patch makes it, relative to the plan's folder. Its paths start at the repository's root."},
	plans.Attr{Name: "three_way", Type: plans.Bool, Default: false, Doc: "Merges where lines have moved. That needs the versions the patch was made from, and stages the result."},
)

type gitApply struct {
	site     *Site
	Patch    string `json:"patch"`
	ThreeWay bool   `json:"three_way"`
}

// input is the patch itself: another one under the same name is another step.
func (c *gitApply) input() string { return runtime.FileDigest(c.site.Plan.Abs(c.Patch)) }

func (c *gitApply) do(ctx context.Context, r *git.Repo) (string, []verdict.Reason, error) {
	path := c.site.Plan.Abs(c.Patch)
	if err := git.PatchFile(path); err != nil {
		return "", nil, err
	}
	head, _, err := r.Head(ctx)
	if err != nil {
		return "", nil, err
	}
	if r.Applied(ctx, path) {
		return head, didTo(c.Patch, code.PatchAlready, verdict.Text("at", git.Short(head))), nil
	}
	if err := r.Idle(); err != nil {
		return "", nil, err
	}
	if err := r.Apply(ctx, path, c.ThreeWay); err != nil {
		return "", nil, err
	}
	return head, didTo(c.Patch, code.PatchApplied, verdict.Text("sha256", c.input()), at(ctx, r, head)), nil
}

func (c *gitApply) holds(ctx context.Context, r *git.Repo, _ string) verdict.Reason {
	if r.Applied(ctx, c.site.Plan.Abs(c.Patch)) {
		return verdict.Reason{}
	}
	return verdict.New(code.PatchGone, verdict.Text("repo", filepath.Base(r.Top))).On(c.Patch)
}
