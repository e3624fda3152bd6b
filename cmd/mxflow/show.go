package main

import (
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/launch"
)

// showOptions are the command line of mxflow show.
type showOptions struct {
	*app
	all bool
}

func newShowCommand(a *app) *cobra.Command {
	o := &showOptions{app: a}
	c := &cobra.Command{
		Use:   "show RUN [PLAN]",
		Short: "Show one run: its decisions, launches and measurements",
		Long: `RUN is a run's ID, the beginning of one, or latest; or the ID of one launch, for
which every metric with all its statistics is shown, as --all does for each, and what
identified it: the files, packages, folders and trees that it ran, by content.`,
		Example: `  mxflow show latest plan.hcl
  mxflow show --all latest`,
		Args: cobra.RangeArgs(1, 2),
		RunE: o.run,
	}
	c.Flags().BoolVar(&o.all, "all", false, "every metric of every launch, with all its statistics")
	a.jsonFlag(c.Flags())
	return c
}

func (o *showOptions) run(_ *cobra.Command, args []string) error {
	o.fold()
	st, err := o.reader(args[1:])
	if err != nil {
		return err
	}
	defer st.Close()
	if l, ok := st.LaunchByID(args[0]); ok {
		ran := launch.UsedBy(st, l)
		o.app.show(struct {
			*ledger.Launch
			Ran source.Used `json:"ran"`
		}{l, ran}, func() {
			view.Launch(o.screen(), l)
			view.Ran(o.screen(), l, ran)
		})
		return nil
	}
	v, err := st.Run(args[0])
	if err != nil {
		return err
	}
	if o.json {
		o.printJSON(struct {
			*ledger.RunView
			Reward *runtime.Reward `json:"reward,omitempty"`
		}{v, report.RewardOf(st, v.ID)})
		return nil
	}
	view.Run(o.screen(), o.summary(st, args[1:]), v, o.all)
	return nil
}
