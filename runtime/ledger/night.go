package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Night is one run of mxflow watch: what a name referred to, the decisions that compared it, and what
// followed. Its numbers are those of the decisions.
type Night struct {
	// Watched is the name: "main", "vllm/vllm-openai:nightly", "pins.txt".
	Watched   string  `json:"watched"`
	Candidate Version `json:"candidate"`
	// Good and Anchor are what it was compared with: the newest version that was shown not to be
	// worse, and the release that none may fall behind. Release is the anchor that the plan names;
	// empty if it names none.
	Good    Version `json:"good"`
	Anchor  Version `json:"anchor"`
	Release string  `json:"release,omitempty"`
	// Every is after how many nights the anchor is due.
	Every int `json:"every,omitempty"`
	// Machine identifies the machine, with driver and GPU; empty if nothing was launched.
	Machine  string       `json:"machine,omitempty"`
	Sessions []NightTrial `json:"sessions,omitempty"`
	Outcome  NightOutcome `json:"outcome"`
	// Found is what a search found after an alarm; nil without one.
	Found *NightFound `json:"found,omitempty"`
	// Why is why it is broken, where no decision says so.
	Why verdict.Reason `json:"why,omitzero"`
	// By and Reason are who accepted it, and why.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Version is a version of an engine: ID is a commit, an image by digest, or the digest of pins.
type Version struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
}

// Short is the ID for people: eight digits of its hash.
func (v Version) Short() string {
	id := v.ID[strings.LastIndexByte(v.ID, ':')+1:]
	return id[:min(8, len(id))]
}

// NightTrial is a decision that compared the candidate.
type NightTrial struct {
	// Against is "good" or "anchor". Again is set for the second session, in fresh launches.
	Against string `json:"against"`
	Again   bool   `json:"again,omitempty"`
	// Node and Attempt are the decision's.
	Node    string `json:"node"`
	Attempt int    `json:"attempt"`
}

const (
	AgainstGood   = "good"
	AgainstAnchor = "anchor"
)

// NightOutcome is what followed from a night.
type NightOutcome string

const (
	// NightStart: the first version, with nothing to compare it with.
	NightStart NightOutcome = "start"
	// NightQuiet: nothing new.
	NightQuiet NightOutcome = "nothing new"
	// NightMoved: not worse, so it is last good now.
	NightMoved NightOutcome = "moved"
	// NightAlarm: worse, and again in fresh launches. NightWorse: still worse, since an alarm.
	NightAlarm NightOutcome = "alarm"
	NightWorse NightOutcome = "still worse"
	// NightUnconfirmed: worse once, and not again.
	NightUnconfirmed NightOutcome = "not confirmed"
	NightUndecided   NightOutcome = "undecided"
	// NightBroken: it could not be measured.
	NightBroken NightOutcome = "broken"
	// NightAccepted: a person made it last good.
	NightAccepted NightOutcome = "accepted"
)

var nightOutcomes = []string{
	string(NightStart), string(NightQuiet), string(NightMoved), string(NightAlarm), string(NightWorse),
	string(NightUnconfirmed), string(NightUndecided), string(NightBroken), string(NightAccepted),
}

// NightFound is what a search between last good and the candidate found.
type NightFound struct {
	// Outcome is the search's: found, between, same, open; or why it has none.
	Outcome string  `json:"outcome"`
	Version Version `json:"version,omitzero"`
	Said    string  `json:"said,omitempty"`
}

// Watched is a Night on record.
type Watched struct {
	*Night
	// Record is its position in the ledger, from 0.
	Record int       `json:"record"`
	Run    string    `json:"run"`
	Time   time.Time `json:"time"`
}

func (n *Night) check() error {
	switch {
	case n.Watched == "" || n.Candidate.ID == "" || n.Good.ID == "" || n.Anchor.ID == "":
		return errors.New("is a night without a candidate, last good or anchor")
	case !slices.Contains(nightOutcomes, string(n.Outcome)):
		return unknown("outcome of a night", string(n.Outcome), nightOutcomes...)
	case n.Outcome == NightAccepted && (n.By == "" || n.Reason == ""):
		return errors.New("accepts a version without a person or a reason")
	}
	for _, t := range n.Sessions {
		if t.Against != AgainstGood && t.Against != AgainstAnchor {
			return unknown("side of a night", t.Against, AgainstGood, AgainstAnchor)
		}
	}
	return nil
}

// follows reports whether the decisions that the night names exist.
func (n *Night) follows(x *Index) error {
	for _, t := range n.Sessions {
		if x.Attempt(t.Node, t.Attempt) == nil {
			return fmt.Errorf("rests on attempt %d of %s, which is not on record", t.Attempt, t.Node)
		}
	}
	return nil
}
