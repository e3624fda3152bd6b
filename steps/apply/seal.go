package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report"
)

// budget ends an apply when the launches or hours of its seal are used up.
type budget struct {
	Observer
	limits seal.Limits
	end    context.CancelCauseFunc

	mu    sync.Mutex
	spent report.Spending
}

var errSpent = errors.New("the budget of the seal is used up; a person must seal again with more --launches or --hours")

// underSeal returns an error if the seal does not allow the plan, or is used up; else a ctx that ends
// when it is, and an observer that counts.
func (o *Options) underSeal(ctx context.Context, spent report.Spending, watch Observer) (context.Context, Observer,
	func(), error,
) {
	moved, err := o.Seal.Changes(o.Loaded.Plan)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(moved) > 0 {
		return nil, nil, nil, fmt.Errorf("%s does not allow this plan; nothing was started:\n%s", o.SealFile,
			changeLines(moved))
	}
	b := &budget{Observer: watch, limits: o.Seal.Limits, spent: spent}
	if b.limits.Launches > 0 && spent.Launches >= b.limits.Launches ||
		b.limits.Hours > 0 && spent.Hours >= b.limits.Hours {
		return nil, nil, nil, fmt.Errorf("%d launches and %.2g hours used of %d launches and %.2g hours: %w",
			spent.Launches, spent.Hours, b.limits.Launches, b.limits.Hours, errSpent)
	}
	ctx, b.end = context.WithCancelCause(ctx)
	done := func() { b.end(nil) }
	if b.limits.Hours > 0 {
		left := time.Duration((b.limits.Hours - spent.Hours) * float64(time.Hour))
		timer := time.AfterFunc(left, func() { b.end(errSpent) })
		done = func() {
			timer.Stop()
			b.end(nil)
		}
	}
	return ctx, b, done, nil
}

// Event counts launches: the one beyond the limit ends the run, and does not count.
func (b *budget) Event(ev runtime.Event) {
	if ev.Type == "launch_started" {
		b.mu.Lock()
		b.spent.Launches++
		over := b.limits.Launches > 0 && b.spent.Launches > b.limits.Launches
		b.mu.Unlock()
		if over {
			b.end(errSpent)
		}
	}
	b.Observer.Event(ev)
}

// changeLines are the changes, for people.
func changeLines(moved []seal.Change) string {
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
