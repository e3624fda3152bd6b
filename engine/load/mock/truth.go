package mock

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Truth is how one answer was really sent, on the machine's CLOCK_MONOTONIC, which client
// and server share.
type Truth struct {
	ID string `json:"id"`
	// Arrival is when the whole request had arrived, in ns.
	Arrival int64 `json:"arrival_ns"`
	// Sent are the times in ns right before each event with text was written.
	Sent []int64 `json:"sent_ns"`
	// Tokens of the whole answer, PerEvent tokens in each event but the last.
	Tokens   int `json:"tokens"`
	PerEvent int `json:"tokens_per_event"`
	// Lag is by how much, in ns, the latest event missed its deadline: the server's own
	// lateness.
	Lag int64 `json:"lag_ns"`
	// Broken is set if the client disconnected before the last event was sent.
	Broken bool `json:"broken,omitempty"`
}

// TTFT is the time from the arrival to the first event with text.
func (t Truth) TTFT() time.Duration { return time.Duration(t.Sent[0] - t.Arrival) }

// maxTruths limits how many answers are kept; the oldest go first.
const maxTruths = 1 << 16

// truths are the answers that have ended.
type truths struct {
	mu   sync.Mutex
	list []Truth
}

func (t *truths) add(one Truth) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) >= maxTruths {
		t.list = append(t.list[:0], t.list[maxTruths/2:]...)
	}
	t.list = append(t.list, one)
}

func (t *truths) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = nil
}

// find returns the answers with an id in the order in which they ended; all for an empty
// id.
func (t *truths) find(id string) []Truth {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []Truth
	for _, one := range t.list {
		if id == "" || one.ID == id {
			found = append(found, one)
		}
	}
	return found
}

// write writes one JSON object per line.
func (t *truths) write(w io.Writer, id string) error {
	enc := json.NewEncoder(w)
	for _, one := range t.find(id) {
		if err := enc.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// readTruths is the inverse of write.
func readTruths(r io.Reader) ([]Truth, error) {
	var all []Truth
	for dec := json.NewDecoder(r); ; {
		var one Truth
		switch err := dec.Decode(&one); err {
		case nil:
			all = append(all, one)
		case io.EOF:
			return all, nil
		default:
			return nil, err
		}
	}
}
