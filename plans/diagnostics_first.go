package plans

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// maxShown is how many diagnostics are printed: whoever has more mends those
// first, and most of the rest often follows from them.
const maxShown = 20

// first are the diagnostics that are printed, errors before warnings where there
// are too many, and what is said of those that are not.
func (r *Findings) first(most int) (shown hcl.Diagnostics, more string) {
	all := r.Diagnostics
	if len(all) <= most {
		return all, ""
	}
	errs := len(all.Errs())
	room, rest := min(errs, most), most-min(errs, most)
	left := map[hcl.DiagnosticSeverity]int{hcl.DiagError: room, hcl.DiagWarning: rest}
	missing := map[hcl.DiagnosticSeverity]int{}
	for _, d := range all {
		if left[d.Severity] == 0 {
			missing[d.Severity]++
			continue
		}
		left[d.Severity]--
		shown = append(shown, d)
	}
	var words []string
	for _, of := range []struct {
		severity hcl.DiagnosticSeverity
		word     string
	}{{hcl.DiagError, "error"}, {hcl.DiagWarning, "warning"}} {
		switch n := missing[of.severity]; n {
		case 0:
		case 1:
			words = append(words, "1 more "+of.word)
		default:
			words = append(words, fmt.Sprintf("%d more %ss", n, of.word))
		}
	}
	return shown, "… and " + strings.Join(words, " and ") + ". Mend these first; mxflow validate --json has all of them."
}
