package tell

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var applyPhrases = phrases{
	code.StateNotice: "{notice}",
	code.StateWait:   "waiting for process {pid}, which is using {subject} (Ctrl-C to stop waiting)",
	code.MachineChanged: func(r verdict.Reason) string {
		known := func(name string) string {
			if v := r.Args[name]; v.Text != "" {
				return v.Text
			}
			return "unknown"
		}
		return fmt.Sprintf("this machine's %s changed since the last apply, from %s to %s; earlier measurements are repeated", r.Subject, known("then"), known("now"))
	},
	code.LeftProcess:     "stopped process {pid}, which an earlier apply left running (launch {launch})",
	code.LeftContainer:   "removed container {subject} ({image}, started {started}), which an earlier apply left on {daemon} (launch {launch})",
	code.LeftInContainer: "stopped what an earlier apply left running in container {subject} on {daemon} ({processes} of its processes)",
	code.LeftUnknown:     "cannot tell whether an earlier apply left containers there: {error}",
	code.LogsUnclean:     "logs of run {subject} may hold sensitive values: {error}",
	code.ImagePulled: func(r verdict.Reason) string {
		done, total := r.Args["done"].Number, r.Args["total"].Number
		if done == nil || total == nil {
			return "pulling image " + r.Subject
		}
		return fmt.Sprintf("pulling image %s: %.2f of %.2f GB", r.Subject, *done, *total)
	},
}
