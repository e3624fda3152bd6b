package ab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Conclude says the outcome in one sentence, and what to do.
func (r *Result) Conclude(q *Question, end *ledger.End) {
	r.adviseDeclaring(q)
	if end.Reason.Kind == code.Interrupted.Kind {
		r.Said = fmt.Sprintf("Interrupted: %s of A and %d of B are on record.",
			verdict.Count(len(r.A.Launches), "launch"), len(r.B.Launches))
		r.Advice = []string{"Run the same command again to resume."}
		return
	}
	r.say(q)
	r.sayBeyondClaim(q)
	shown := func(d Diff) bool { return d.Observed && d.Intended != "" }
	measured := len(r.A.Launches) > 0 && len(r.B.Launches) > 0
	if q.Of == nil && !q.Proves() && !slices.ContainsFunc(r.Differs, shown) && r.Verdict.Decided() && measured {
		r.Advice = append(r.Advice,
			"No evidence that B's change was active. Name a line that only B logs: --must-see-b '*…*'.")
	}
}

// adviseDeclaring is how differences that were not declared are, if they may be there.
func (r *Result) adviseDeclaring(q *Question) {
	var changes, accept []string
	for _, d := range r.Differs {
		switch {
		case d.Intended != "" || d.Name == "":
		case d.Observed && q.Of != nil: // its reason says what to declare in the plan
		case d.Observed:
			changes = append(changes, d.Name)
		default:
			accept = append(accept, d.Name)
		}
	}
	if names := slices.Concat(changes, accept); len(names) > 0 {
		var declared []string
		if len(changes) > 0 {
			declared = append(declared, "--changes", strings.Join(changes, ","))
		}
		if len(accept) > 0 {
			declared = append(declared, "--accept", strings.Join(accept, ","))
		}
		r.Advice = append(r.Advice,
			fmt.Sprintf("If %s may differ, declare it: %s", strings.Join(names, ", "), q.Again(declared...)))
	}
}

// say is the outcome in one sentence.
func (r *Result) say(q *Question) {
	n := min(len(r.A.Launches), len(r.B.Launches))
	label := q.Label()
	switch {
	case r.Accuracy != nil && decide.LosesAccuracy(*r.Accuracy) && r.Verdict == r.Accuracy.Verdict:
		r.Said = "B answers fewer questions right than A."
		if r.Verdict == verdict.Inconclusive {
			r.Said = "It is open whether B answers as many questions right as A."
		}
		if r.Shown {
			r.Said += " It " + q.Claim.Says(label) + "."
		}
	case r.Verdict == verdict.Pass:
		r.Said = "B " + q.Claim.Says(label) + "."
	case r.Verdict == verdict.Fail && r.Stopped == stats.Screened:
		r.Said = fmt.Sprintf("B %s, clearly enough for one launch of each.", q.Claim.Not(label))
	case r.Verdict == verdict.Fail && n > 0 && len(r.LogTail) == 0 && decide.Qualified(r.Levels):
		r.Said = "B " + q.Claim.Not(label) + "."
	case r.Verdict == verdict.Fail && verdict.Holds(r.Reasons, code.CrashedAgain.Kind) && n == 0:
		r.Said = "B crashed, and again in a fresh launch; A did not."
	case r.Verdict == verdict.Fail && verdict.Holds(r.Reasons, code.CrashedAgain.Kind):
		r.Said = "B crashed again in a fresh launch, under a load that A survived."
	case r.Unfit != "":
		r.Said = r.Unfit + " did not pass qualification, so nothing was compared."
	case r.Verdict == verdict.Fail:
		r.Said = "Nothing was compared."
	case r.Verdict == verdict.Inconclusive && verdict.Holds(r.Reasons, code.MachineDisturbed.Kind):
		r.Said = "This machine disturbed the measurement, so nothing is decided. Run the same command again when " +
			"nothing else is running; it resumes where this ended."
	case r.Verdict == verdict.Inconclusive && n > 0:
		r.Said = fmt.Sprintf("%s of each do not show whether B %s.", verdict.Launches(n), q.Claim.Says(label))
		if n == 1 {
			r.Said = fmt.Sprintf("One launch of each does not show whether B %s.", q.Claim.Says(label))
		}
		r.openAdvice(q)
	case r.Verdict == verdict.Inconclusive && Measured(r.A.All) && Measured(r.B.All):
		r.Said = "Both were measured, but their numbers decide nothing:"
	case r.Verdict == verdict.Inconclusive:
		r.Said = "Nothing was measured, so nothing is decided."
	case r.Verdict == verdict.Invalid:
		r.Said = "The comparison does not count."
	case AnyFailed(r.B.All):
		r.Said = "The server of B broke, so nothing is decided."
	case AnyFailed(r.A.All):
		r.Said = "The server of A broke, so nothing is decided."
	default:
		r.Said = "A server or mxflow broke, so nothing is decided."
	}
}

// sayBeyondClaim is what a pass of the usual claim shows of whether B is faster.
func (r *Result) sayBeyondClaim(q *Question) {
	if r.Verdict == verdict.Pass && !q.Claim.Given && r.Low != nil && r.High != nil {
		low, high := q.Claim.Change(*r.Low), q.Claim.Change(*r.High)
		low, high = min(low, high), max(low, high)
		edge := strings.TrimLeft(verdict.AtLeast(low, "ratio"), "+-") // rounded as the numbers below it
		does, _, more, less := q.Claim.words()
		switch {
		case low > 0:
			r.Said += fmt.Sprintf(" It %s at least %s %s.", does, edge, more)
			sign := map[bool]string{false: "+", true: "-"}[q.Claim.Lower()]
			r.Advice = append(r.Advice,
				fmt.Sprintf("To claim that B is better, state by how much and measure fresh launches: %s",
					q.Again("--claim="+sign+"N%", "--rerun")))
		case high < 0:
			r.Said += fmt.Sprintf(" It %s at most %s %s.", does, edge, less)
		default:
			r.Said += fmt.Sprintf(" It is open whether it %s %s.", does, more)
		}
	}
}

// openAdvice is what would settle an open comparison.
func (r *Result) openAdvice(q *Question) {
	if q.Quick {
		r.Advice = append(r.Advice, "The same command without --quick continues from these launches.")
	} else if r.Test != nil {
		for _, b := range r.Test.Remarks {
			switch b.Kind {
			case code.SettlesNever.Kind:
				r.Advice = append(r.Advice, verdict.Sentence(b))
			case code.Settles.Kind:
				if n := b.Values["launches"].Number; n != nil {
					r.Advice = append(r.Advice,
						fmt.Sprintf("%.0f launches of each would probably settle it: the same command with "+
							"--launches %.0f continues from these.", *n, *n))
				}
			}
		}
	}
}
