package store

import (
	"time"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// mostRefused and mostRefusals bound what is kept of refusals since the last run, and of
// all: somebody who tries ten thousand times fills no disk.
const mostRefused, mostRefusals = 32, 1024

// Refused is a refusal and where it stands.
type Refused struct {
	*ledger.Refusal
	Record int       `json:"record"`
	Run    string    `json:"run"`
	Time   time.Time `json:"time"`
}

// Refusals are those on record, oldest first.
func (s *Store) Refusals() (list []Refused) {
	for i, r := range s.Records() {
		if r.Refusal != nil {
			list = append(list, Refused{r.Refusal, i, r.Run, r.Time})
		}
	}
	return list
}

// Refuse records a refusal, once after each run, while there is room for it. Before the first
// run nothing is on record that it could be held against, and nothing is recorded.
func (s *Store) Refuse(r ledger.Refusal) error {
	r.Why = r.Why[:min(len(r.Why), ledger.MostReasons)]
	run, since, all, said := "", 0, 0, false
	for _, rec := range s.Records() {
		switch {
		case rec.RunStart != nil:
			run, since, said = rec.Run, 0, false
		case rec.Refusal != nil:
			since, all, said = since+1, all+1, said || rec.Refusal.Same(&r)
		}
	}
	if run == "" || said || since >= mostRefused || all >= mostRefusals {
		return nil
	}
	r.Last = since == mostRefused-1 || all == mostRefusals-1
	return s.Append(&ledger.Record{Type: "refusal", Time: time.Now().UTC(), Run: run, Refusal: &r})
}
