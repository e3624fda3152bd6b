package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// gitAction is what one kind of git step does. Its attributes are its fields.
type gitAction interface {
	// do brings the repository into the state that the plan asks for, or finds it there.
	// The goal is a short text that later runs can check.
	do(ctx context.Context, r *source.Repo) (goal string, reasons []verdict.Reason, err error)
	// holds is why the goal of an earlier run no longer holds; no fact while it does. It
	// changes nothing and queries no remote.
	holds(ctx context.Context, r *source.Repo, goal string) verdict.Reason
}

// gitCommon are the attributes that all git steps have.
type gitCommon struct {
	Repo    string    `hcl:"repo,optional" default:"." filled:"true" doc:"A working tree of the repository. It is relative to the plan's folder; '~' is the home folder."`
	Timeout plans.Dur `hcl:"timeout,optional" default:"10m" doc:"After this time git is stopped and the step fails."`
}

func gitKind(doc, example string, action func() gitAction, attrs []plans.Attr) Kind {
	return Kind{
		Schema: plans.Schema{Doc: doc, Example: example, Attrs: append(attrs, plans.Attrs(gitCommon{})...)},
		Make: func(l *Site, b *plans.Block) runtime.Step {
			return &gitStep{site: l, block: b, action: action()}
		},
	}
}

type gitStep struct {
	site   *Site
	block  *plans.Block
	action gitAction
	common gitCommon
}

// gitTurn lets one git step at a time make changes: two of them may name the same
// repository by different paths.
var gitTurn sync.Mutex

// gitGoal starts the part of a measurement key that names what was reached.
const gitGoal = "is "

// key is the start of the measurement key: what the plan asks for.
func (g *gitStep) key() string {
	asked := map[string]any{}
	for name, v := range g.block.Attrs {
		if name != "timeout" {
			asked[name] = v
		}
	}
	return g.block.Kind + ":" + g.site.sealed(g.block.Kind, asked) + ":"
}

// Derive implements runtime.Step. A git step is identified by its settings and the state
// that it reached: if the repository is still in that state, the outcome is reused,
// otherwise the step runs again.
func (g *gitStep) Derive(s *runtime.Scope) (*runtime.Derived, error) {
	if err := errors.Join(g.block.Decode(&g.common), g.block.Decode(g.action)); err != nil {
		return nil, err
	}
	out, moved := &runtime.Derived{Key: g.key() + "to do"}, verdict.Reason{}
	if s.Previous != nil {
		if goal, ok := strings.CutPrefix(s.Previous.MeasureKey, g.key()+gitGoal); ok {
			if moved = g.changedState(s, goal); moved.IsZero() {
				out.Key = s.Previous.MeasureKey
			}
		}
	}
	out.Outcome, out.Why = s.Recorded(out.Key, moved)
	return out, nil
}

// changedState is how a repository is no longer in the state that the step left it in; no fact
// if it is.
func (g *gitStep) changedState(s *runtime.Scope, goal string) (why verdict.Reason) {
	ctx, cancel := context.WithTimeout(runtime.ContextOf(s), time.Minute)
	defer cancel()
	r, err := source.OpenRepo(ctx, g.site.Plan.Abs(g.common.Repo))
	if err != nil {
		why = verdict.New(code.GitRefused, verdict.Err(err))
	} else {
		why = g.action.holds(ctx, r, goal)
	}
	return why.Map(g.site.Redact.Text)
}

func (g *gitStep) Do(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	gitTurn.Lock()
	defer gitTurn.Unlock()
	limited, cancel := context.WithTimeout(ctx, time.Duration(g.common.Timeout))
	defer cancel()
	var goal string
	var reasons []verdict.Reason
	r, err := source.OpenRepo(limited, g.site.Plan.Abs(g.common.Repo))
	if err == nil {
		goal, reasons, err = g.action.do(limited, r)
	}
	out := &ledger.Decision{Verdict: verdict.Pass}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		out.Verdict, reasons = verdict.Fail,
			verdict.Because(code.TimedOut, verdict.Dur("limit", time.Duration(g.common.Timeout)), verdict.Err(err))
	case err != nil:
		// Git's refusals fail; broken surroundings are an error.
		out.Verdict, reasons = verdict.Fail, verdict.Because(code.GitRefused, verdict.Err(err))
		if refused, ok := errors.AsType[*source.Error](err); ok && refused.Around {
			out.Verdict = verdict.Error
		}
	default:
		// The reached state is known only now; later runs check it.
		out.MeasureKey = g.key() + gitGoal + goal
		if slices.ContainsFunc(reasons, func(r verdict.Reason) bool { return r.Verdict == verdict.Fail }) {
			out.Verdict = verdict.Fail
		}
	}
	for _, r := range reasons {
		out.Reasons = append(out.Reasons, r.Map(g.site.Redact.Text))
	}
	return out, nil
}

// refChange is what a step did to a branch or a tag.
func refChange(subject string, c code.Fact, args ...verdict.Arg) []verdict.Reason {
	return []verdict.Reason{verdict.New(c, args...).On(subject)}
}

// at is the argument for a location in a reason.
func at(ctx context.Context, r *source.Repo, commit string) verdict.Arg {
	return verdict.Text("at", named(ctx, r, commit))
}

func named(ctx context.Context, r *source.Repo, commit string) string {
	if subject, _ := r.Run(ctx, "log", "-1", "--format=%s", commit); subject != "" {
		return fmt.Sprintf("%s (%s)", commit, subject)
	}
	return commit
}
