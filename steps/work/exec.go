package work

import (
	"context"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/process"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/program"
)

var execKind = Kind{
	Schema: plans.Schema{
		Doc: "Runs a command in the plan's folder. Exit status 0 passes, any other fails, and a command that cannot be started is an error.",
		Example: `step "exec" "backup" {
  command = ["git", "tag", "--force", "before-the-port"]
  timeout = "1m"
}`,
		Attrs: []plans.Attr{
			{Name: "command", Type: plans.Strings, Required: true, Doc: "The program and its arguments; no shell is involved. Use [\"sh\", \"-c\", \"…\"] for one."},
			{Name: "dir", Type: plans.String, Default: ".", Doc: "Working directory, relative to the plan's folder."},
			{Name: "env", Type: plans.Map, Doc: "Set on top of the inherited environment."},
			{Name: "timeout", Type: plans.Duration, Default: "30m", Doc: "After this the command is stopped and the step fails."},
		},
		Check: program.CheckCommand,
	},
	Make: func(l *Site, b *plans.Block) runtime.Step { return &execStep{site: l, block: b} },
}

type execStep struct {
	site  *Site
	block *plans.Block
}

type execConfig struct {
	Command []string          `json:"command"`
	Dir     string            `json:"dir"`
	Env     map[string]string `json:"env"`
	Timeout plans.Dur         `json:"timeout"`
}

// Keys of a command are the command itself: what it reads cannot be known, so
// an unchanged command that passed is not run again unless --rerun asks for it.
func (e *execStep) Keys(*runtime.Scope) (runtime.Keys, error) {
	return runtime.Keys{Measure: e.site.sealed("exec", e.block.Attrs), Decide: "exec"}, nil
}

func (e *execStep) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	var c execConfig
	if err := e.block.Decode(&c); err != nil {
		return nil, err
	}
	launch, err := e.site.stepLaunch(s)
	if err != nil {
		return nil, err
	}
	run, err := process.StartCommand(engine.Spec{Command: c.Command, Dir: e.site.Plan.Path(c.Dir), Env: c.Env, StopGrace: 10 * time.Second}, launch)
	if err != nil {
		return &ledger.Decision{Verdict: verdict.Error, Reasons: verdict.Because(code.NotStarted, verdict.Line(err))}, nil
	}
	return e.site.await(ctx, s, run, time.Duration(c.Timeout))
}
