package gpu

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// streamed are asked for again and again. The first two cannot be done without.
// power.draw is an average over the last second on Ampere and newer; instant is
// not, and older drivers do not have it.
var streamed = []field{
	{"timestamp", []string{"timestamp"}},
	{"uuid", []string{"uuid", "gpu_uuid"}},
	{"power.draw", []string{"power.draw"}},
	{"power.draw.instant", []string{"power.draw.instant"}},
	{"memory.used", []string{"memory.used"}},
	{"memory.total", []string{"memory.total"}},
	{"clocks.current.sm", []string{"clocks.current.sm", "clocks.sm"}},
	{"clocks.current.memory", []string{"clocks.current.memory", "clocks.mem"}},
	{"temperature.gpu", []string{"temperature.gpu"}},
	{"utilization.gpu", []string{"utilization.gpu"}},
	{"clocks_event_reasons.active", []string{"clocks_event_reasons.active", "clocks_throttle_reasons.active"}},
}

// silence is how long a stream may print nothing before it counts as hung.
const silence = 10 * time.Second

// Stream asks nvidia-smi for the values of some GPUs again and again.
type Stream struct {
	uuids []string
	asked []field
	// First are the values that were read when the stream was made, one GPU each
	// in the order asked.
	First []GPU
	// silence is how long nothing may come.
	silence time.Duration
}

// Reading is one GPU's values at one moment: those of Values that were answered.
type Reading struct {
	GPU
	// At is when nvidia-smi asked the driver, by its own word where that can be
	// true, else when its line arrived; Delay is the difference. At has a
	// monotonic reading.
	At    time.Time
	Delay time.Duration
}

// NewStream asks once, so that it is known what the driver knows. The error wraps
// ErrNone where there is no GPU; a UUID that nvidia-smi does not show is an error
// too.
func NewStream(ctx context.Context, uuids []string) (*Stream, error) {
	out, asked, err := query(ctx, streamed, 2, "-i", strings.Join(uuids, ","))
	if err != nil {
		return nil, err
	}
	s := &Stream{uuids: uuids, asked: asked, silence: silence}
	found := map[string]GPU{}
	for line := range strings.Lines(out) {
		if r, err := s.parse(line, time.Now()); err == nil {
			found[r.UUID] = r.GPU
		}
	}
	for _, uuid := range uuids {
		g, ok := found[uuid]
		if !ok {
			return nil, fmt.Errorf("nvidia-smi shows no values of GPU %s: it printed %q", uuid, cut(strings.TrimSpace(out)))
		}
		s.First = append(s.First, g)
	}
	return s, nil
}

// Has reports whether the driver knows a field at all.
func (s *Stream) Has(name string) bool {
	return slices.ContainsFunc(s.asked, func(f field) bool { return f.name == name })
}

// Run has nvidia-smi print every so often until ctx ends, and calls each for
// every line as it comes: with a reading, or with an error for a line that is
// none. It returns as follow does.
func (s *Stream) Run(ctx context.Context, every time.Duration, each func(Reading, error)) error {
	args := []string{question(s.asked), "--format=csv,noheader,nounits", "-i", strings.Join(s.uuids, ","), "-lms", millis(every)}
	return follow(ctx, s.silence, args, func(line string, now time.Time, err error) {
		if err != nil {
			each(Reading{}, err)
			return
		}
		each(s.parse(line, now))
	})
}
