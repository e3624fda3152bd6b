// Package sealing reads the seal beside a plan, reports what changed since, and ends a
// run when its limit of launches or hours is used up. It signs nothing.
package sealing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/plans/seal"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/steps/apply"
)

// AllTries is the chance that a feature without a gain passes in any of its tries.
func AllTries(s *seal.Seal) float64 {
	bound, _ := stats.Bound(s.FalsePass)
	return bound
}

// FileOf is the seal's file of a plan.
func FileOf(plan string) string { return filepath.Join(lang.FolderOf(plan), "plan.seal") }

// ErrSealFirst is the end of an error about a plan without a seal.
var ErrSealFirst = errors.New("a person seals the plan first")

// Read is the seal beside a plan, signed by the holder of a public key: as text, in a
// file, or by default this user's.
func Read(plan, key string) (*seal.Seal, error) {
	file := FileOf(plan)
	signed, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("no seal: %w; %w", err, ErrSealFirst)
	}
	key, err = audit.PublicKey(key, file)
	if err != nil {
		return nil, err
	}
	text, err := signing.Verify(signed, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; nothing was started", file, err)
	}
	s, err := seal.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// Lines are the changes, for people.
func Lines(moved []seal.Change) string {
	var lines []string
	for _, m := range moved {
		line := fmt.Sprintf("  %s:%d: %s: sealed %s, now %s", m.File, m.Line, m.Path, cmp.Or(m.Was, "absent"),
			cmp.Or(m.Is, "absent"))
		if m.Limit != "" {
			line = fmt.Sprintf("  %s:%d: %s = %s exceeds the limit %s", m.File, m.Line, m.Path, m.Is, m.Limit)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Budget ends an apply when a seal's launches or hours are used up.
type Budget struct {
	apply.Observer
	Limits seal.Limits
	end    context.CancelCauseFunc

	mu    sync.Mutex
	spent report.Spending
	timer *time.Timer
}

var errSpent = errors.New("the budget of the seal is used up; a person must seal again with more --launches or --hours")

// Start counts what was spent before; it returns an error if nothing is left.
func (b *Budget) Start(s report.Spending) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = s
	if b.Limits.Launches > 0 && s.Launches >= b.Limits.Launches || b.Limits.Hours > 0 && s.Hours >= b.Limits.Hours {
		return fmt.Errorf("%d launches and %.2g hours used of %d launches and %.2g hours: %w", s.Launches, s.Hours,
			b.Limits.Launches, b.Limits.Hours, errSpent)
	}
	if b.Limits.Hours > 0 {
		b.timer = time.AfterFunc(time.Duration((b.Limits.Hours-s.Hours)*float64(time.Hour)), func() { b.end(errSpent) })
	}
	return nil
}

// Event counts launches: the one beyond the limit ends the run, and does not count.
func (b *Budget) Event(ev runtime.Event) {
	if ev.Type == "launch_started" {
		b.mu.Lock()
		b.spent.Launches++
		over := b.Limits.Launches > 0 && b.spent.Launches > b.Limits.Launches
		b.mu.Unlock()
		if over {
			b.end(errSpent)
		}
	}
	b.Observer.Event(ev)
}

// Watch returns a ctx that ends when the budget is used up, and an observer that counts.
func (b *Budget) Watch(ctx context.Context, watch apply.Observer) (context.Context, apply.Observer, func()) {
	ctx, b.end = context.WithCancelCause(ctx)
	b.Observer = watch
	return ctx, b, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.timer != nil {
			b.timer.Stop()
		}
		b.end(nil)
	}
}
