package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/runtime/ledger"
)

func (a *app) showCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show RUN [PLAN]",
		Short: "Show one run: its decisions, launches and what they measured",
		Long:  "RUN is a run's ID, the beginning of one, or latest.",
		Example: "  mxflow show latest examples/quickstart/plan.hcl\n" +
			"  mxflow show --json latest",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := a.reader(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			v, err := st.Run(args[0])
			if err != nil {
				return err
			}
			if a.json {
				a.printJSON(v)
				return nil
			}
			fmt.Fprintf(a.stdout, "run %s of plan %s (%s), started %s\n", v.ID, v.Plan, v.PlanFile, v.Started.Local().Format("2006-01-02 15:04:05"))
			if v.Done {
				fmt.Fprintf(a.stdout, "%s, exit status %d\n", v.Reason, v.Exit)
			}
			if s := v.Start; s != nil {
				fmt.Fprintf(a.stdout, "%s, plan digest %.12s, on %s\n", s.Tool, s.PlanDigest, pairs(s.Environment))
			}
			fmt.Fprintln(a.stdout)
			var rows [][]string
			for _, d := range v.Decisions {
				rows = append(rows, []string{d.Node, string(d.Verdict), fmt.Sprint(d.Attempt), d.Because, why(d.Decision)})
			}
			a.printTable([]string{"node", "verdict", "attempt", "because", "why"}, rows)
			for _, d := range v.Decisions {
				a.comparison(d.Decision)
			}
			if len(v.Launches) > 0 {
				fmt.Fprintln(a.stdout)
				a.printTable([]string{"launch", "variant", "ok", "seconds", "measured"}, launchRows(v.Launches))
				a.observed(v.Launches)
			}
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	return c
}

func launchRows(launches []*ledger.Launch) [][]string {
	var rows [][]string
	for _, l := range launches {
		ok := "yes"
		measured := []string{}
		if !l.OK {
			ok = "no"
			measured = append(measured, l.Error)
		}
		for _, address := range sortedKeys(l.Metrics) {
			m := l.Metrics[address]
			if v, has := m.Stats["median"]; has && headline(address) {
				measured = append(measured, fmt.Sprintf("%s %.4g %s", address, v, m.Unit))
			}
		}
		if state := l.Engine["caches"]; state != "" {
			measured = append(measured, state+" caches")
		}
		rows = append(rows, []string{l.ID, l.Variant, ok, fmt.Sprintf("%.1f", l.Seconds), strings.Join(append(measured, l.Notes...), ", ")})
	}
	return rows
}

// headline metrics are what the field's tables show.
func headline(address string) bool {
	if strings.HasPrefix(address, "command.") {
		return true // what the plan declares is what people want to see
	}
	for _, m := range []string{".tg", ".pp", ".ttft", ".startup_s", ".first_request_s", ".memory_gb"} {
		if strings.HasSuffix(address, m) {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func pairs(m map[string]string) string {
	var out []string
	for _, k := range sortedKeys(m) {
		out = append(out, k+" "+m[k])
	}
	return strings.Join(out, ", ")
}
