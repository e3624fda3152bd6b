package apply

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/machine"
	process "github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/variant"
)

// Wiring is what steps need.
type Wiring struct {
	Plan  *plans.Plan
	Graph *runtime.Graph
	// Store is nil if nothing is kept.
	Store *store.Store
	// Owner marks what is started and RunDir holds its logs; both are empty if nothing is
	// started. A lab has RunDir as an absolute path.
	Owner, RunDir string
	// Run is the run that is about to start, empty if none is, and Reuse that launches of
	// what cannot be identified count nevertheless. Since, if set, is from which run on.
	Run, Since string
	Reuse      bool
	// Note is told of image pulls; may be nil.
	Note func(verdict.Reason)
}

// NewLab connects steps to a state directory, and keeps the plan's secrets out of it: out
// of its records, its logs, and measurement keys.
func NewLab(w Wiring) (*steps.Lab, error) {
	if err := process.Private(); err != nil {
		return nil, err
	}
	launchers := w.launchers()
	lab := steps.NewLab(w.Plan, w.Graph)
	lab.Launches.Store, lab.Launches.Launcher, lab.Variants.Images, lab.Launches.Owner = w.Store, launchers,
		launchers, w.Owner
	if w.RunDir != "" {
		var err error
		if lab.Launches.RunDir, err = filepath.Abs(w.RunDir); err != nil {
			return nil, fmt.Errorf("no path of the run's folder: %w", err)
		}
	}
	lab.Variants.MachineKey = variant.MachineKey(machine.Environment(), w.Plan)
	if !w.Plan.Executor.IsRemote() {
		lab.Launches.Boot = machine.BootID() // else places have their own boot, and applies may run anywhere
	}
	lab.Variants.KindVersions = map[string]string{"embedded": embedded.Version}
	lab.Variants.Since = w.countsSince()
	if w.Store != nil && !w.Plan.Executor.IsRemote() {
		lab.Variants.Opened, lab.Variants.Result = lab.Launches.OpenedBy, lab.Launches.IsResult
	}
	if dir, err := os.UserCacheDir(); err == nil {
		lab.Variants.Read.Cache = filepath.Join(dir, "mxflow", "files")
	}
	if w.Store != nil {
		if state, err := filepath.Abs(w.Store.Dir()); err == nil {
			lab.Variants.Read.Own = []string{state}
			if real, err := filepath.EvalSymlinks(state); err == nil {
				lab.Variants.Read.Own = append(lab.Variants.Read.Own, real)
			}
		}
	}
	lab.Launches.Redact = redact.New(w.Plan.Secrets())
	if !lab.Launches.Redact.Active() {
		return lab, nil
	}
	dir := ""
	if w.Store != nil {
		dir = w.Store.Dir()
		w.Store.CleanWith(func(r *ledger.Record) { lab.Launches.Redact.Clean(r, Identities...) })
	}
	key, err := store.SecretKey(dir)
	if err != nil {
		return nil, err
	}
	// A secret is part of measurement keys, as another one may mean another measurement;
	// but it must not be possible to guess it from the ledger.
	lab.Variants.Seal = redact.NewWith(w.Plan.Secrets(), func(secret string) string {
		return redact.Sealed(key, secret)
	})
	return lab, nil
}

// countsSince is the run from which on launches count of what cannot be identified: the last one
// if that was killed or interrupted, or a person says so.
func (w Wiring) countsSince() string {
	if w.Since != "" || w.Store == nil || len(w.Store.Runs()) == 0 {
		return cmp.Or(w.Since, w.Run)
	}
	runs := w.Store.Runs()
	last := runs[len(runs)-1]
	if view, err := w.Store.Run(last.ID); err == nil && view.Start != nil &&
		(w.Reuse || !last.Done || last.Exit < 0 || last.Exit == verdict.ExitInterrupted) {
		return cmp.Or(view.Start.Since, last.ID)
	}
	return w.Run
}

// Identities are the fields of records and events that name things. They never contain a
// secret, as plans refuse it in names and rules; redacting a part that merely reads alike
// would break references to them.
var Identities = []string{
	"Type", "Run", "Since", "Files", "Plan", "PlanDigest", "PlanSource", "PlanSources", "BootID", "ID", "Session",
	"Purpose", "Node", "Nodes",
	"Goals", "Qualifies", "Variant", "VariantKey", "Block", "Knobs", "Kind", "Phase", "Feature", "MeasureKey",
	"DecisionKey", "Launches", "LaunchID",
	"Because", "Samples", "Output", "Prompts", "Log", "Metrics", "Metric", "Name", "Role", "Expr", "Source",
	"Op", "Path", "Unit",
	"Level", "Verdict", "Tool", "Stream",
}

// launchers start engines; if something is kept, they record the docker daemons on which
// something may be left.
func (w Wiring) launchers() engine.Launchers {
	images := &docker.Images{Pulling: func(image string, done, size int64) {
		switch {
		case w.Note == nil:
		case size == 0:
			w.Note(verdict.New(code.ImagePulled).On(image))
		default:
			w.Note(verdict.Say("apply.image_pulling", "pulling image {subject}: {done} of {size} GB so far",
				verdict.Text("done", gb(done)), verdict.Text("size", gb(size))).On(image))
		}
	}}
	inDocker := docker.Launcher{Images: images}
	if w.Store != nil {
		inDocker.Remember = daemonsOf(w.Store).remember
	}
	return engine.Launchers{
		engine.HowProcess: process.Launcher{}, engine.HowEndpoint: process.Endpoints{},
		engine.HowDocker: inDocker, engine.HowCompose: inDocker, engine.HowExec: inDocker,
	}
}

// gb is a size as registries show it, in units of 10^9 bytes.
func gb(bytes int64) string { return strconv.FormatFloat(float64(bytes)/1e9, 'f', 1, 64) }
