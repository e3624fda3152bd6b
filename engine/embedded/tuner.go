package embedded

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// tactics are the tuner's candidates for a step, near ties: the middle one takes as long
// as without a tuner, its neighbours 1% less and more, the outermost 5%.
const tactics = 11

// tunedOp is the operation that a tactic is chosen for.
const tunedOp = "mxflow_embedded::step"

// Tune returns the factor by which the chosen tactic stretches every step, and where the
// choice is kept. Like the tuners of real engines it draws among near ties, of n of which
// draw chooses one, and keeps what won in a file below dir, which the next start reads.
// Without dir each start draws.
func Tune(dir string, draw func(n int) int) (factor float64, where string) {
	of := func(tactic int) float64 { return 1 + float64(tactic-tactics/2)/100 }
	file := filepath.Join(dir, "autotune", Version, "autotune_configs.json")
	if text, err := os.ReadFile(file); dir != "" && err == nil {
		kept := map[string]int{tunedOp: -1}
		if err := json.Unmarshal(text, &kept); err == nil && kept[tunedOp] >= 0 && kept[tunedOp] < tactics {
			return of(kept[tunedOp]), "loaded from " + file
		}
	}
	tactic, where := draw(tactics), "kept nowhere"
	if dir != "" {
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, fmt.Appendf(nil, "{%q: %d}\n", tunedOp, tactic), 0o600)
		}
		if where = "kept in " + file; err != nil {
			where = fmt.Sprintf("not kept: %v", err)
		}
	}
	return of(tactic), where
}
