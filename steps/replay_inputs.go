package steps

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// inexact says why a recorded plan comes out with another digest, and what to do.
func (p *recordedPlan) inexact() string {
	if len(p.inputs.Sealed) > 0 {
		return fmt.Sprintf("The recorded plan has another digest without %s, which no run records, since it may be secret; each rule was compiled from the text that the decision recorded. Given again as they were then (--var, --var-file, MXFLOW_VAR_name or the environment), all of the plan is checked.", p.sealed())
	}
	return "The recorded plan has another digest although all that was given to it is on record: this version of mxflow reads it otherwise. Each rule was compiled from the text that the decision recorded."
}

// sealed names the inputs that are sensitive.
func (p *recordedPlan) sealed() string {
	return strings.Join(slices.Sorted(maps.Keys(p.inputs.Sealed)), ", ")
}

// giveAgain is what to do where the recorded plan cannot be compiled.
func (p *recordedPlan) giveAgain() string {
	if len(p.inputs.Sealed) == 0 {
		return ""
	}
	return fmt.Sprintf(". What is sensitive is in no record: give %s as it was then", p.sealed())
}

// without says what a recorded plan that comes out with another digest lacks.
func (p *recordedPlan) without() string {
	if len(p.inputs.Sealed) > 0 {
		return fmt.Sprintf("without %s, which no run records, since it may be secret: give it as it was given then.", p.sealed())
	}
	return "by this version of mxflow, which reads it otherwise than the one that recorded it."
}
