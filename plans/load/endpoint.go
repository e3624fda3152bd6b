package load

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// endpointLauncher is the keyword of the block for a server that is already running.
const endpointLauncher = "endpoint"

// checkEndpoints finds settings in a plan that cannot reach a server that is already
// running.
func (l *loader) checkEndpoints() {
	for _, e := range l.plan.Engines {
		if e.Launch == nil || e.Launch.Kind != endpointLauncher {
			continue
		}
		restarts := len(plans.AnyList(e.Launch.Attrs["restart"])) > 0
		lost := holding(map[string]bool{
			"settings": len(e.Settings) > 0, "args": len(e.Args) > 0, "env": len(e.Env) > 0 && !restarts,
			"stop":   e.StopGrace != 0,
			"caches": len(e.Parts["caches"]) > 0, "source": len(e.Parts["source"]) > 0,
			"tree": len(e.Parts["tree"]) > 0,
		})
		if len(lost) > 0 {
			l.Fail(lang.HCL(e.Range), "endpoint", "Endpoint is not started",
				"Engine %s.%s is not started by mxflow, so %s of the plan cannot reach it. Remove that, and "+
					"configure the server where it is started; env is passed to the restart command of the endpoint "+
					"block, if there is one.",
				e.Kind, e.Name, verdict.And(lost))
		}
		if key, _ := e.Launch.Attrs["api_key"].(string); key != "" && !slices.Contains(l.Secrets.List(), key) {
			l.Fail(lang.HCL(e.Launch.Range), "key-not-sensitive", "Key is not sensitive",
				`The api_key of engine %s.%s would end up in logs, reports and the recorded plan. Take it from a variable: ‹variable "key" {`+"\ntype = string\nsensitive = true\n}"+`›, then ‹api_key = var.key›, and pass it in MXFLOW_VAR_key. A key that is not secret goes into headers.`, e.Kind, e.Name)
		}
		// Knobs are for the baseline's engine and those that features are confirmed on.
		key, base := e.Kind+"."+e.Name, l.plan.Baseline
		tested := base != nil && base.Engine == key
		for _, n := range l.order {
			tested = tested || slices.ContainsFunc(n.confirms, func(c confirmNote) bool {
				return c.confirm.Engine == key
			})
		}
		if !tested {
			continue
		}
		cure := "With restart in the endpoint block, that command gets the env of knobs; nothing else can reach the " +
			"server."
		if restarts {
			cure = "Its restart command gets only the env of knobs: put what it needs there, and have the command " +
				"use it."
		}
		for _, k := range l.plan.Knobs {
			for _, v := range k.Values {
				lost := append(holding(map[string]bool{
					"settings": len(v.Settings) > 0, "args": len(v.Args) > 0, "command": len(v.Command) > 0,
					"image": v.Image != "", "env": len(v.Env) > 0 && !restarts,
				}), lang.KeysOf(v.Parts)...)
				if len(lost) > 0 {
					l.Fail(lang.HCL(v.Range), "endpoint", "Knob cannot reach the endpoint",
						"Engine %s.%s is not started by mxflow, so %s of value %q of knob %q would have no effect. %s",
						e.Kind, e.Name, verdict.And(lost), v.Name, k.Name, cure)
				}
			}
		}
	}
}

// holding are the names of what is set, sorted.
func holding(set map[string]bool) []string {
	maps.DeleteFunc(set, func(_ string, is bool) bool { return !is })
	return lang.KeysOf(set)
}
