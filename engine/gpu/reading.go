package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parse reads a line of the stream that arrived at now. A line that is not
// wholly what was asked for is an error: a number in the wrong place is worse
// than none.
func (s *Stream) parse(line string, now time.Time) (Reading, error) {
	line = strings.TrimSpace(line)
	cells := strings.Split(line, ",")
	if len(cells) != len(s.asked) {
		return Reading{}, fmt.Errorf("%d values to %d fields: %q", len(cells), len(s.asked), cut(line))
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
			return Reading{}, fmt.Errorf("%s is %q: %q", f.name, cut(v), cut(line))
		default:
			r.Values[f.name] = v
		}
	}
	if !slices.Contains(s.uuids, r.UUID) {
		return Reading{}, fmt.Errorf("no GPU that was asked for: %q", cut(line))
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

// late is the longest that a line takes to come to us.
const late = 2 * time.Second

// delay is the time from asked, a wall clock in nvidia-smi's zone, to now. Zones
// are whole quarters of an hour apart, so only what is left beside those counts.
// It is zero where that is no time that a line can take: after the clock was set,
// for example.
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
