package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// why is a decision's reasons, comparisons first.
func why(d *ledger.Decision) string {
	var parts []string
	for _, r := range d.Rules {
		for _, reason := range r.Reasons {
			parts = append(parts, r.Name+": "+reason)
		}
	}
	if len(d.Rules) == 0 || d.Verdict == verdict.Error || d.Verdict == verdict.Invalid {
		for _, reason := range d.Reasons {
			if !repeats(d, reason) {
				parts = append(parts, reason)
			}
		}
	}
	if len(parts) == 0 {
		for _, l := range d.Levels {
			parts = append(parts, l.Name+" "+string(l.Verdict))
		}
	}
	if d.Exit != nil && *d.Exit >= 0 { // a signal's name is in the reasons
		parts = append(parts, fmt.Sprintf("exit status %d", *d.Exit))
	}
	if len(d.LogTail) > 0 {
		parts = append(parts, "last log line: "+d.LogTail[len(d.LogTail)-1])
	}
	return strings.Join(parts, "\n")
}

// repeats reports whether a reason only says again what a rule says.
func repeats(d *ledger.Decision, reason string) bool {
	for _, r := range d.Rules {
		if strings.HasPrefix(strings.TrimPrefix(reason, "criterion "), r.Name+": ") {
			return true
		}
	}
	return false
}

// lastWords prints the end of the log of everything that broke in this run,
// once, below the node that it broke in.
func (a *app) lastWords(s runtime.Summary) {
	printed := map[string]bool{}
	for _, r := range s.Rows {
		if r.Decision == nil || r.Reused || len(r.Decision.LogTail) == 0 {
			continue
		}
		tail := "  | " + strings.Join(r.Decision.LogTail, "\n  | ")
		if !printed[tail] {
			printed[tail] = true
			fmt.Fprintf(a.stdout, "\nThe log of %s ended with:\n%s\n", r.Node.ID, tail)
		}
	}
}
