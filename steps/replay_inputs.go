package steps

import (
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// attempts are the ways in which the plan of a run is compiled again. What the run
// recorded that it was given counts, and what people give now only where that was
// sensitive, so that it was not recorded: for that, files of variables are tried
// where they still lie beside the plan: the digest tells whether they are what they
// were.
func (r *Replay) attempts(start *ledger.RunStart, recorded *ledger.Inputs) []load.Options {
	as := inputsAs(recorded)
	out := []load.Options{{As: as, Inputs: r.inputs}}
	if len(as.Private) > 0 {
		out = slices.Insert(out, 0, load.Options{As: as, Inputs: slices.Concat(r.autoFiles(start), r.inputs)})
	}
	return out
}

// givenOtherwise are the sensitive inputs of a run that have another value in a
// load of its plan now, or of which that cannot be told.
func (r *Replay) givenOtherwise(recorded *ledger.Inputs, res *load.Result) (names []string) {
	now := res.Inputs()
	for _, name := range slices.Sorted(maps.Keys(recorded.Sealed)) {
		text, ok := now.Variables[strings.TrimPrefix(name, "var.")]
		if strings.HasPrefix(name, "env.") {
			text, ok = now.Env[strings.TrimPrefix(name, "env.")]
		}
		if !ok || r.Seal == nil || r.Seal(text) != recorded.Sealed[name] {
			names = append(names, name)
		}
	}
	return names
}

// lacking are what is said of a recorded plan that cannot be compiled, or comes out with
// another digest, for want of what no run records.
func (p *recordedPlan) lacking() []verdict.Arg {
	if len(p.inputs.Sealed) > 0 {
		return []verdict.Arg{verdict.List("sealed", slices.Sorted(maps.Keys(p.inputs.Sealed)))}
	}
	return nil
}
