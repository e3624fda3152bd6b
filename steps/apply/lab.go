package apply

import (
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/endpoint"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/process"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/variant"
)

// Wiring is what steps work with.
type Wiring struct {
	Plan  *plans.Plan
	Graph *runtime.Graph
	// Store is nil where nothing is kept.
	Store *store.Store
	// Owner marks what is started and RunDir takes its logs; both are empty where
	// nothing is started.
	Owner, RunDir string
	// OnSeenData lets rules decide that were relaxed after their launches were seen.
	OnSeenData bool
	// Note hears of images that are pulled; nil where nobody listens.
	Note func(verdict.Reason)
}

// NewLab wires steps to a state directory, and keeps the plan's secrets out of it:
// of its records, its logs, and the keys by which measurements are found again.
func NewLab(w Wiring) (*steps.Lab, error) {
	launchers := w.launchers()
	lab := steps.NewLab(w.Plan, w.Graph)
	lab.Store, lab.Launcher, lab.Images, lab.Owner, lab.RunDir = w.Store, launchers, launchers, w.Owner, w.RunDir
	lab.OnSeenData = w.OnSeenData
	lab.MachineKey = variant.MachineKey(machine.Environment(), w.Plan)
	lab.Inherited = machine.Inherited()
	if !w.Plan.Executor.Elsewhere() {
		lab.Boot = machine.BootID() // else places say which boot, and who applies may stand anywhere
	}
	lab.KindVersions = map[string]string{"embedded": embedded.Version}
	lab.Redact = redact.New(w.Plan.Secrets())
	if !lab.Redact.Active() {
		return lab, nil
	}
	dir := ""
	if w.Store != nil {
		dir = w.Store.Dir()
		w.Store.CleanWith(func(r *ledger.Record) { lab.Redact.Clean(r, Identities...) })
	}
	key, err := store.SecretKey(dir)
	if err != nil {
		return nil, err
	}
	// A secret is in measurement keys, since another one may be another
	// measurement; but whoever has the ledger must not be able to guess it.
	lab.Seal = redact.NewWith(w.Plan.Secrets(), func(secret string) string { return redact.Sealed(key, secret) })
	return lab, nil
}

// Identities are the fields of records and events that name things. A secret
// never gets into them, since plans refuse it in names and rules; taking out a
// part that merely reads alike would break what refers to them.
var Identities = []string{
	"Type", "Run", "Plan", "PlanDigest", "PlanSource", "PlanSources", "BootID", "ID", "Session", "Purpose", "Node", "Nodes",
	"Goals", "Variant", "VariantKey", "Block", "Knobs", "Kind", "Phase", "Feature", "MeasureKey", "DecisionKey", "ClaimKey", "Launches", "LaunchID",
	"Because", "Samples", "Output", "Prompts", "Log", "Metrics", "Metric", "Name", "Role", "Expr", "Source", "Op", "Path", "Unit",
	"Level", "Verdict", "Tool", "Stream",
}

// launchers start engines; where something is kept, they write down on which docker
// daemons something may be left.
func (w Wiring) launchers() engine.Launchers {
	fetched, pulls := &docker.FetchMemo{}, pulls(w.Note)
	own := docker.Launcher{Progress: pulls, Fetched: fetched}
	compose := docker.ComposeLauncher{Progress: pulls, Fetched: fetched}
	exec := docker.ExecLauncher{}
	if w.Store != nil {
		daemons := daemonsOf(w.Store)
		own.Remember, compose.Remember, exec.Remember = daemons.remember, daemons.remember, daemons.rememberExec
	}
	return engine.Launchers{Process: process.Launcher{}, Docker: own, Compose: compose, Exec: exec, Endpoint: endpoint.Launcher{}}
}

// pulls says how the pull of an image progresses, now and then.
func pulls(note func(verdict.Reason)) func(docker.Progress) {
	const every = 5 * time.Second
	var mu sync.Mutex
	last := map[string]time.Time{}
	return func(p docker.Progress) {
		mu.Lock()
		defer mu.Unlock()
		before, seen := last[p.Image]
		switch {
		case note == nil, seen && (p.Total == 0 || time.Since(before) < every):
			return
		case !seen:
			note(verdict.New(code.ImagePulled).On(p.Image))
		default:
			note(verdict.New(code.ImagePulled, verdict.Num("done", float64(p.Done)/1e9, "GB"), verdict.Num("total", float64(p.Total)/1e9, "GB")).On(p.Image))
		}
		last[p.Image] = time.Now()
	}
}
