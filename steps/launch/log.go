package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

const (
	// quietLog is how long a log from a container must not have grown before it is read,
	// and lateLines the maximum wait for that, and for lines that must be seen.
	quietLog  = 300 * time.Millisecond
	lateLines = 3 * time.Second
	logLook   = 50 * time.Millisecond
)

// settleLog waits until the log is quiet if it reaches its file through a daemon or a
// network, and so later than the answers that it is about: lines that must not be seen may
// still arrive.
func (st *Started) settleLog(ctx context.Context) {
	path := st.Inst.LogPath()
	if st.How == engine.HowProcess || path == "" {
		return
	}
	size, since := int64(-1), time.Now()
	for begin := since; time.Since(begin) < lateLines && time.Since(since) < quietLog && pauseFor(ctx, logLook); {
		if info, err := os.Stat(path); err == nil && info.Size() != size {
			size, since = info.Size(), time.Now()
		}
	}
}

// ScanProof scans the engine's log for the evidence, and waits some time for lines that must
// be seen: those of a command such as srun or ssh come later than the answers, too.
func (st *Started) ScanProof(ctx context.Context, wanted []variant.Evidence) (*logscan.Scan, error) {
	st.settleLog(ctx)
	for begin := time.Now(); ; {
		log, err := os.Open(st.Inst.LogPath())
		if err != nil {
			return nil, fmt.Errorf("cannot search the engine's log: %w", err)
		}
		scan, err := ScanEvidence(log, wanted, st.Record, st.Kind)
		log.Close()
		if err != nil || allMatched(wanted, scan.Matches()) || time.Since(begin) > lateLines ||
			!pauseFor(ctx, logLook) {
			return scan, err
		}
	}
}

// LogBroken reports whether the engine's log could not be followed to this moment.
func (st *Started) LogBroken() bool {
	followed, ok := st.Inst.(interface{ LogBroken() bool })
	return ok && followed.LogBroken()
}

func allMatched(wanted []variant.Evidence, seen map[string]logscan.Match) bool {
	for _, e := range wanted {
		for _, glob := range e.MustSee {
			if m := seen[glob]; m.UsedNo == 0 && !e.AtStart || m.Count == 0 {
				return false
			}
		}
	}
	return true
}

// pauseFor waits and reports whether ctx is still active.
func pauseFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// ScanEvidence scans the log of a launch for evidence, for an engine of a kind.
func ScanEvidence(log io.Reader, wanted []variant.Evidence, l *ledger.Launch, kind kinds.Kind) (*logscan.Scan, error) {
	var globs []string
	for _, e := range wanted {
		globs = append(globs, e.Globs()...)
	}
	scan, err := logscan.New(globs)
	if err == nil && l.Asked != nil {
		err = scan.Uses(*l.Asked, kind.EffectPatterns())
	}
	if err == nil {
		err = scan.Read(log)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot search the engine's log: %w", err)
	}
	return scan, nil
}
