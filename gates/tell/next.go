package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var nextPhrases = phrases{
	code.NextLaunches: differ + "About " + perArm + " would probably decide it{more? ({more} more)}{most?, and the plan makes at most {most}: " +
		"allow more in the benchmark level or the decision block}. Launches that differ less decide sooner: " + lessSpread,
	code.NextSpread:   differ + "Even " + perArm + " would probably not decide it. Make launches differ less: " + lessSpread,
	code.NextStarts:   "{subject}: " + perArm + " shows no launch-to-launch variance: allow {least?at least {least} }{least!more }launches in the benchmark level",
	code.NextQuiet:    "this machine disturbed the measurement{causes? ({causes})}. Apply again when nothing else runs on it",
	code.NextEvidence: "evidence is missing for {subject}{causes?: {causes}}",
}

const (
	differ     = "{subject}: launches differ by {spread:2}, and the estimate is {gap:2} from the threshold. "
	lessSpread = "locked clocks, no other load, longer or more requests"
)
