package apply

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// took is the duration of a successful launch. It is for estimates only.
type took struct {
	// Engine is the digest of the kind and the model that it loaded, Variant and Work the
	// keys of what was started and sent.
	Engine  string `json:"engine"`
	Variant string `json:"variant"`
	Purpose string `json:"purpose"`
	Work    string `json:"work,omitempty"`
	// Start is the time until it was ready, 0 if it was not measured.
	Start   float64 `json:"start_s,omitempty"`
	Seconds float64 `json:"seconds"`
}

func engineKey(kind, model string) string { return runtime.ShortID(kind, model) }

func tookOf(l *ledger.Launch) took {
	model := variant.ModelOf(engine.Spec{Command: strings.Fields(l.Engine["command"])}, nil)
	return took{
		Engine: engineKey(l.Engine["kind"], model), Variant: l.VariantKey, Purpose: l.Purpose, Work: l.Work,
		Start: l.Metrics["engine.startup_s"].Stats["median"], Seconds: l.Seconds,
	}
}

func (t took) sound() bool {
	return t.Engine != "" && t.Seconds > 0 && !math.IsInf(t.Seconds, 0) && t.Start >= 0 && !math.IsInf(t.Start, 0)
}

// Known are launches made before.
type Known struct {
	all []took // oldest first
	// file records launches of all plans on this machine; empty means none.
	file string
}

// knownFile is below the user's cache directory: it may be removed at any time.
const knownFile = "mxflow/launches.jsonl"

// mostKnown is how many bytes of the file are read, from its end, and kept.
const mostKnown = 1 << 20

// KnownTo returns the launches of a state directory, which may be nil, and those of other
// plans on this machine. What cannot be read is unknown.
func KnownTo(st *store.Store) *Known {
	k := &Known{}
	if dir, err := os.UserCacheDir(); err == nil {
		k.file = filepath.Join(dir, filepath.FromSlash(knownFile))
		k.read()
	}
	if st != nil {
		for _, l := range st.Launches(store.LaunchFilter{OK: true}) {
			if t := tookOf(l); t.sound() && !slices.Contains(k.all, t) {
				k.all = append(k.all, t)
			}
		}
	}
	return k
}

// those returns the newest launches of a sort, oldest first.
func (k *Known) those(are func(took) bool) (list []took) {
	// As fast as now, not as many launches ago.
	const newest = 30
	for _, t := range slices.Backward(k.all) {
		if len(list) == newest {
			break
		}
		if are(t) {
			list = append(list, t)
		}
	}
	slices.Reverse(list)
	return list
}

func (k *Known) read() {
	f, err := os.Open(k.file)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	} else if info.Size() > mostKnown {
		if _, err := f.Seek(-mostKnown, io.SeekEnd); err != nil {
			return
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, mostKnown))
	if err != nil {
		return
	}
	for line := range bytes.Lines(text) {
		var t took
		if json.Unmarshal(line, &t) == nil && t.sound() {
			k.all = append(k.all, t)
		}
	}
}

// add records a launch, also for other plans on this machine: failing to write it is not
// an error of an apply.
func (k *Known) add(l *ledger.Launch) {
	t := tookOf(l)
	if !l.OK || !t.sound() {
		return
	}
	k.all = append(k.all, t)
	line, err := json.Marshal(t)
	if err != nil || k.file == "" || os.MkdirAll(filepath.Dir(k.file), 0o700) != nil {
		return
	}
	if info, err := os.Stat(k.file); err == nil && info.Size() > 2*mostKnown {
		_ = os.Rename(k.file, k.file+".old") // started over, since it is only for estimates
	}
	f, err := os.OpenFile(k.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n')) // in one write, so lines of two applies do not mix
	_ = f.Close()
}
