package gpu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/logscan"
)

// streamed are queried repeatedly. The first two are required. power.draw is an average
// over the last second on Ampere and newer; instant is not, and older drivers do not have
// it.
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

// Stream queries the values of some GPUs repeatedly through nvidia-smi.
type Stream struct {
	uuids []string
	asked []field
	// First are the values read when the stream was created, one GPU each in the
	// requested order.
	First []GPU
	// silence is how long nothing may come.
	silence time.Duration
}

// Reading is one GPU's values at one moment, those of Values that were available.
type Reading struct {
	GPU
	// At is when nvidia-smi queried the driver, by its own timestamp if that is
	// plausible, else when its line arrived; Delay is the difference. At has a monotonic
	// reading.
	At    time.Time
	Delay time.Duration
}

// NewStream queries once, to determine what the driver supports. The error wraps ErrNone
// if there is no GPU; a UUID that nvidia-smi does not show is an error too.
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
			return nil, fmt.Errorf("nvidia-smi shows no values for GPU %s: it printed %q", uuid, logscan.Clean(strings.TrimSpace(out)))
		}
		s.First = append(s.First, g)
	}
	return s, nil
}

// Has reports whether the driver knows a field at all.
func (s *Stream) Has(name string) bool {
	return slices.ContainsFunc(s.asked, func(f field) bool { return f.name == name })
}

// Run has nvidia-smi print periodically until ctx ends, and calls each for every line as
// it comes: with a reading, or with an error for an invalid line. It returns as follow
// does.
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

// parse parses a line of the stream that arrived at now. A line that is not exactly as
// requested is an error: a number in the wrong place is worse than none.
func (s *Stream) parse(line string, now time.Time) (Reading, error) {
	line = strings.TrimSpace(line)
	cells := strings.Split(line, ",")
	if len(cells) != len(s.asked) {
		return Reading{}, fmt.Errorf("%d values for %d fields: %q", len(cells), len(s.asked), logscan.Clean(line))
	}
	r := Reading{GPU: GPU{Values: map[string]string{}}, At: now}
	for i, f := range s.asked {
		v, ok := value(cells[i])
		switch {
		case !ok:
			continue
		case f.name == "uuid":
			r.UUID = v
		case f.name == "timestamp":
			if asked, err := time.Parse("2006/01/02 15:04:05.000", v); err == nil {
				r.Delay = delay(asked, now)
			}
		case !plausible(f.name, v):
			return Reading{}, fmt.Errorf("%s is %q: %q", f.name, logscan.Clean(v), logscan.Clean(line))
		default:
			r.Values[f.name] = v
		}
	}
	if !slices.Contains(s.uuids, r.UUID) {
		return Reading{}, fmt.Errorf("not a requested GPU: %q", logscan.Clean(line))
	}
	r.At = now.Add(-r.Delay)
	return r, nil
}

// plausible reports whether a field can have this value.
func plausible(name, v string) bool {
	if name == "clocks_event_reasons.active" {
		_, err := strconv.ParseUint(strings.TrimPrefix(v, "0x"), 16, 64)
		return err == nil
	}
	n, err := strconv.ParseFloat(v, 64)
	most := 1e9
	if name == "utilization.gpu" {
		most = 100
	}
	return err == nil && n >= 0 && n <= most
}

// late is the maximum delay of a line.
const late = 2 * time.Second

// delay is the time from asked, a wall clock in nvidia-smi's zone, to now. Zones are
// whole quarters of an hour apart, so only the remainder counts. It is zero if that is
// not a plausible delay: after the clock was set, for example.
func delay(asked, now time.Time) time.Duration {
	const zone = 15 * time.Minute
	d := now.Sub(asked) % zone
	if d < 0 {
		d += zone
	}
	if d > late {
		return 0
	}
	return d
}

// millis is a time in the format of -lms.
func millis(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// follow runs nvidia-smi until ctx ends, and calls each for every line that is not empty
// as it comes, or with an error for one that is too long. It returns nil once ctx has
// ended, else why nvidia-smi did not continue, such as printing nothing for the time of
// silence; 0 allows any silence. nvidia-smi ends with this program, however that ends
// (Linux), and does not outlive follow.
func follow(ctx context.Context, silence time.Duration, args []string, each func(line string, now time.Time, err error)) error {
	path, err := findSMI()
	if err != nil {
		return err
	}
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = w, w
	bind(cmd)
	// The mechanism that binds a child to this program watches the thread that started
	// it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("nvidia-smi did not start: %w", err)
	}
	heard := func() {}
	if silence > 0 {
		hung := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nvidia-smi printed nothing for %s", silence)) })
		defer hung.Stop()
		heard = func() { hung.Reset(silence) }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines(r, func(line string, now time.Time, err error) {
			heard()
			each(line, now, err)
		})
	}()
	err = cmd.Wait()
	// Its remaining output is in the pipe; another holder of it is not waited for.
	_ = r.SetReadDeadline(time.Now().Add(time.Second))
	<-done
	switch {
	case parent.Err() != nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("nvidia-smi ended: %w", err)
	}
	return errors.New("nvidia-smi ended")
}

// lines reads lines until there are no more. A last line without its end is dropped: its
// last number may lack digits.
func lines(from io.Reader, each func(line string, now time.Time, err error)) {
	in := bufio.NewReaderSize(from, 4096)
	for {
		line, err := in.ReadSlice('\n')
		now := time.Now()
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			each("", now, fmt.Errorf("a line of more than %d bytes: %q", len(line), logscan.Clean(string(line))))
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
		case err == nil && len(strings.TrimSpace(string(line))) > 0:
			each(string(line), now, nil)
		}
		if err != nil {
			return
		}
	}
}
