package ledger

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Report is what Verify found.
type Report struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"` // that verified
	Records int    `json:"records"`
	// Runs, Launches and Decisions count records by type.
	Runs      int `json:"runs"`
	Launches  int `json:"launches"`
	Decisions int `json:"decisions"`
	// Waivers and Retractions count what people overruled; a retraction is a
	// decision too.
	Waivers     int `json:"waivers,omitempty"`
	Retractions int `json:"retractions,omitempty"`
	// Size and Root are the tree's: what a signed checkpoint would say.
	Size int64     `json:"size"`
	Root tlog.Hash `json:"root"`
	// Checkpoint is the size that the checkpoint file has seen, 0 without one.
	Checkpoint int64 `json:"checkpoint"`
	// Notices are true of a ledger that verifies, and worth knowing.
	Notices []string `json:"notices,omitempty"`
}

// Verify recomputes everything from the file: each tree hash, each record's
// form and invariants, and that nothing the checkpoint has seen is missing. A
// torn tail is an error too. The report tells how far it came.
func Verify(path string) (Report, error) {
	rep := Report{Path: path}
	s, err := readOnce(path)
	if s != nil {
		rep.Bytes, rep.Size, rep.Root, rep.Records = s.good, s.tree.n, s.root, len(s.records)
	}
	if err != nil {
		return rep, err
	}
	if s.torn {
		return rep, &DamageError{Path: path, Line: int(s.tree.n) + 1, Offset: s.good, Problem: "is not complete", Hint: hintTorn}
	}
	if s.tree.n == 0 {
		return rep, &DamageError{Path: path, Problem: "is empty: not even a header", Hint: hintTorn}
	}
	cp, err := readCheckpoint(path)
	if err != nil {
		return rep, err
	}
	if cp == nil {
		rep.Notices = append(rep.Notices, fmt.Sprintf("there is no %s, so it cannot be told whether records were cut off at the end", checkpointPath(path)))
	} else {
		rep.Checkpoint = cp.size
	}
	rep.count(s.records)
	return rep, nil
}

func (rep *Report) count(records []*Record) {
	launches := map[string]bool{}
	for i, r := range records {
		switch {
		case r.RunStart != nil:
			rep.Runs++
		case r.Launch != nil:
			rep.Launches++
			launches[r.Launch.ID] = true
		case r.Waiver != nil:
			rep.Waivers++
		case r.Decision != nil:
			rep.Decisions++
			if r.Decision.Retracted() {
				rep.Retractions++
			}
			for _, id := range r.Decision.Launches {
				if !launches[id] {
					rep.Notices = append(rep.Notices, fmt.Sprintf("line %d: the decision about %s rests on launch %s, which no line before it holds", i+2, r.Decision.Node, id))
				}
			}
		}
	}
}
