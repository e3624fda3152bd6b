package openai

import (
	"errors"
	"net/http"
	"strings"
)

// UsageMode is how much token counting is asked of the engine. Engines that do
// not know stream_options, or one of its members, refuse the request; the next
// mode is then tried, and what was accepted is kept for the client's life.
type UsageMode int32

const (
	// UsageContinuous asks for counts in every event and at the end.
	UsageContinuous UsageMode = iota
	// UsageFinal asks for counts at the end.
	UsageFinal
	// UsageNone asks for nothing; counts are then usually missing.
	UsageNone
)

func (m UsageMode) String() string {
	switch m {
	case UsageContinuous:
		return "continuous"
	case UsageFinal:
		return "final"
	default:
		return "none"
	}
}

// Usage is the most that the engine has not been found to refuse. Anything but
// UsageContinuous was negotiated, and belongs into the record of a measurement.
func (c *Client) Usage() UsageMode { return UsageMode(c.mode.Load()) }

// lower records that the engine accepted m after having refused more.
func (c *Client) lower(m UsageMode) {
	for {
		old := c.mode.Load()
		if int32(m) <= old || c.mode.CompareAndSwap(old, int32(m)) {
			return
		}
	}
}

// refusesUsage reports whether the engine refused a request because of what it
// asks under stream_options. 422 is what FastAPI answers to unknown members.
func refusesUsage(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	if status.Status != http.StatusBadRequest && status.Status != http.StatusUnprocessableEntity {
		return false
	}
	said := strings.ToLower(status.Body)
	return strings.Contains(said, "stream_options") || strings.Contains(said, "stream options") ||
		strings.Contains(said, "continuous_usage") || strings.Contains(said, "include_usage")
}
