package work

import (
	"context"
	"path"

	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

var todoKind = func() Kind {
	k := gitKind(
		"Tracks a snippet of upstream code to where it is today. A commit, a file and the snippet give it, for a "+
			"note. The step passes while the snippet is there, at the same line or moved to another line or file, "+
			"and fails if it was changed or is gone. It only reads; fetch before it, with `git fetch` in an exec step.",
		`step "upstream_todo" "granularity" {
  repo    = "~/projects/flashinfer"
  commit  = "3f1c2ab"
  ref     = "upstream/main"
  file    = "csrc/fused_moe/sm12x_*.cuh"
  snippet = "kSm12xBlockScaleGranularity = 128"

  improvement = "64 would suit one token at a time"
}`,
		func() gitAction { return &todo{} },
		plans.Attrs(todo{}),
	)
	k.Schema.Check = plans.Checked(func(_ *plans.Block, c todo) (errs []plans.AttrError) {
		if _, err := path.Match(c.File, ""); err != nil {
			errs = append(errs, plans.AttrError{
				Attr: "file", Code: "invalid-value", Summary: "Invalid glob",
				Detail: "Write a path, in which * matches any part of a name.",
			})
		}
		if longestWord(split(c.Snippet)) == "" {
			errs = append(errs, plans.AttrError{
				Attr: "snippet", Code: "invalid-value", Summary: "Nothing to look for",
				Detail: "The snippet has no word. Give a line with a name or a number in it.",
			})
		}
		return errs
	})
	return k
}()

type todo struct {
	Commit  string `hcl:"commit" doc:"The commit of the note: a SHA, a tag."`
	Ref     string `hcl:"ref,optional" default:"HEAD" filled:"true" doc:"Where to look today: a branch, a SHA. A branch of a remote is written 'upstream/main'. When it moves, the step runs again."`
	File    string `hcl:"file" doc:"The file in that commit, or a glob. In it, * is any part of a name. Each occurrence is tracked."`
	_       string `hcl:"improvement,optional" note:"true" doc:"What to improve there, and the benefit. UPSTREAM_TODOS.md shows it; it is in no digest."`
	Snippet string `hcl:"snippet" doc:"Text to find: one line or several. Each must be within a line of the file; indentation does not count."`
}

func (c *todo) do(ctx context.Context, r *source.Repo) (string, []verdict.Reason, error) {
	noted, err := r.Commit(ctx, c.Commit)
	if err != nil {
		return "", nil, err
	}
	now, err := r.Commit(ctx, c.Ref)
	if err != nil {
		return "", nil, err
	}
	followed, err := track(ctx, r, c.Snippet, c.File, noted, now)
	if err != nil {
		return "", nil, err
	}
	if len(followed) == 0 {
		never := verdict.Say("todo.never",
			"{subject} does not contain the snippet in {noted}: correct file, commit or snippet",
			verdict.Text("noted", source.Short(noted))).On(c.File)
		never.Verdict = verdict.Fail
		return now, []verdict.Reason{never}, nil
	}
	var reasons []verdict.Reason
	for _, f := range followed { // the fate of one place of the snippet
		in, was := verdict.Text("now", source.Short(now)), verdict.Text("was", f.Was.String())
		var r verdict.Reason
		switch f.Fate {
		case Still:
			r = verdict.Say("todo.still", "still at {subject} in {now}", in).On(f.Now.String())
		case Moved:
			r = verdict.Say("todo.moved", "moved from {was} to {subject} in {now}", in, was).On(f.Now.String())
		default:
			r = verdict.Say("todo.gone", "{subject} is gone in {now}", in).On(f.Was.String())
			r.Verdict = verdict.Fail
		}
		reasons = append(reasons, r)
	}
	return now, reasons, nil
}

// holds while the ref is unchanged: nothing else can move the snippet.
func (c *todo) holds(ctx context.Context, r *source.Repo, goal string) verdict.Reason {
	now, err := r.Commit(ctx, c.Ref)
	switch {
	case err != nil:
		return verdict.New(code.GitRefused, verdict.Err(err))
	case now != goal:
		return verdict.New(code.RefMoved, verdict.Text("before", source.Short(goal)),
			verdict.Text("after", source.Short(now))).On(c.Ref)
	}
	return verdict.Reason{}
}
