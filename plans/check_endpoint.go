package plans

import "github.com/mxflow/mxflow/gates/verdict"

// endpointLauncher is the keyword of the block for an engine that somebody else
// runs.
const endpointLauncher = "endpoint"

// checkEndpoints finds what a plan wants of an engine that somebody else runs
// and that cannot reach it.
func (l *loader) checkEndpoints() {
	for _, e := range l.plan.Engines {
		if e.Launch == nil || e.Launch.Kind != endpointLauncher {
			continue
		}
		l.checkEndpoint(e)
		if l.underTest(e) {
			for _, k := range l.plan.Knobs {
				for _, v := range k.Values {
					l.checkReach(e, k, v)
				}
			}
		}
	}
}

// underTest reports whether features are measured on an engine: it is the
// baseline's, or one that they are confirmed on.
func (l *loader) underTest(e *Engine) bool {
	key := e.Kind + "." + e.Name
	if b := l.plan.Baseline; b != nil && b.Engine == key {
		return true
	}
	for _, n := range l.checks.order {
		for _, note := range n.confirms {
			if note.confirm.Engine == key {
				return true
			}
		}
	}
	return false
}

func (e *Engine) restarts() bool {
	argv, _ := e.Launch.Attrs["restart"].([]any)
	return len(argv) > 0
}

func (l *loader) checkEndpoint(e *Engine) {
	var lost []string
	if len(e.Settings) > 0 {
		lost = append(lost, "settings")
	}
	if len(e.Args) > 0 {
		lost = append(lost, "args")
	}
	if len(e.Env) > 0 && !e.restarts() {
		lost = append(lost, "env")
	}
	for _, word := range []string{"caches", "source", "tree"} {
		if len(e.Parts[word]) > 0 {
			lost = append(lost, word)
		}
	}
	if e.StopGrace != 0 {
		lost = append(lost, "stop")
	}
	if len(lost) > 0 {
		l.fail(e.Range.hcl(), "Endpoint is not started", "Engine %s.%s is run by somebody else, so %s of the plan cannot reach it. Remove that, and configure the server where it is started; env is given to the restart command of the endpoint block, where there is one.",
			e.Kind, e.Name, verdict.And(lost))
	}
	key, _ := e.Launch.Attrs["api_key"].(string)
	if key != "" && !l.secrets.known[key] {
		l.fail(e.Launch.Range.hcl(), "Key is not sensitive", `The api_key of engine %s.%s would end up in logs, reports and the recorded plan. Take it from a variable: variable "key" { type = string, sensitive = true }, each on its own line, then api_key = var.key, and give it in MXFLOW_VAR_key. A key that is no secret goes into headers.`, e.Kind, e.Name)
	}
}

// checkReach reports a knob's value that an endpoint cannot be told of.
func (l *loader) checkReach(e *Engine, k *Knob, v *KnobValue) {
	var lost []string
	if len(v.Settings) > 0 {
		lost = append(lost, "settings")
	}
	if len(v.Args) > 0 {
		lost = append(lost, "args")
	}
	if len(v.Command) > 0 {
		lost = append(lost, "command")
	}
	if v.Image != "" {
		lost = append(lost, "image")
	}
	lost = append(lost, keysOf(v.Parts)...)
	if len(v.Env) > 0 && !e.restarts() {
		lost = append(lost, "env")
	}
	if len(lost) == 0 {
		return
	}
	cure := "With restart in the endpoint block the env of knobs is given to that command; nothing else can reach the server."
	if e.restarts() {
		cure = "Its restart command is given the env of knobs and nothing else: put what it needs there, and let the command act on it."
	}
	l.fail(v.Range.hcl(), "Knob cannot reach the endpoint", "Engine %s.%s is run by somebody else, so %s of value %q of knob %q would have no effect. %s",
		e.Kind, e.Name, verdict.And(lost), v.Name, k.Name, cure)
}
