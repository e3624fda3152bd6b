package launch

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/steps/variant"
)

// environLimit bounds the query for an engine's environment.
const environLimit = 10 * time.Second

// unforced checks the command and environment of a running engine for settings that force
// it to accept drafted tokens.
func (st *Started) unforced(ctx context.Context, v *variant.Variant) {
	command := append(slices.Clone(v.Spec.Command), slices.Sorted(maps.Values(st.Inst.About()))...)
	by := kinds.ForcedBy(strings.Join(command, " "))
	if by == "" {
		// The environment of its processes, as far as known: set by the plan, seen by a
		// command where the engine runs, and given to its processes at start, as a script
		// may set more.
		var all []string
		for name, value := range sorted.All(v.Spec.Env) {
			all = append(all, name+"="+value)
		}
		if v.Spec.Endpoint == nil {
			ctx, cancel := context.WithTimeout(ctx, environLimit)
			defer cancel()
			if out, err := st.Inst.Output(ctx, "env"); err == nil {
				all = append(all, strings.Split(string(out), "\n")...)
			}
			if own, ok := st.Inst.(engine.Resident); ok {
				for _, pid := range own.PIDs() {
					// none for processes of other systems than Linux
					out, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
					all = append(all, strings.Split(string(out), "\x00")...)
				}
			}
		}
		by = kinds.ForcedIn(all)
	}
	if by != "" {
		st.invalidate(verdict.Say("work.forced",
			"drafted tokens are accepted by force ({by}): the answers are not the model's",
			verdict.Text("by", by)))
	}
}

// loggedForce checks the engine's complete log for the same.
func (st *Started) loggedForce() {
	if st.Inst.LogPath() == "" {
		return
	}
	scan := &logscan.Scan{}
	n, err := scan.Add(logscan.Expressions{Any: kinds.ForcedLines})
	if err != nil || scan.File(st.Inst.LogPath()) != nil {
		return // the evidence check reports why the log cannot be read
	}
	if found := scan.LastMatch(n); found.Count > 0 {
		st.invalidate(verdict.Say("work.forced_logged",
			"drafted tokens are accepted by force (log line {line_no}: {line}): the answers are not the model's",
			verdict.Int("line_no", found.LineNo), verdict.Text("line", foreign.Short(found.Line))))
	}
}
