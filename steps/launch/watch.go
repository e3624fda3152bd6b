package launch

import (
	"context"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// watch starts watching the machine if a command will be measured.
func (st *Started) watch(ctx context.Context, spec engine.Spec) (err error) {
	if st.command.of == nil || st.Record.Purpose != ledger.ForBenchmark {
		return nil
	}
	c := st.GPU.Watched()
	c.Zero, c.Host = st.Began, local(spec)
	// It is called from other goroutines, and before there is an instance.
	c.Own = func() []int {
		select {
		case <-st.command.running:
		default:
			return nil
		}
		if r, ok := st.Inst.(engine.Resident); ok {
			return r.PIDs()
		}
		return nil
	}
	began := time.Now()
	if st.Watch, err = machine.StartSampler(ctx, c); err != nil {
		return err
	}
	return st.Watch.Lead(ctx, began)
}

// unwatch stops watching; it may be called again.
func (st *Started) unwatch() {
	if st.Watch != nil {
		st.Watch.Stop()
	}
}
