package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// abFolder is where comparisons are kept, below the folder that one is in.
const abFolder = ".mxflow-ab"

// abPlace is where a comparison is kept.
type abPlace struct {
	// folder holds the plan and the state; work is where servers are started.
	folder, plan, state, work string
}

// place is the folder of a comparison: the same for the same commands and work,
// whatever is claimed and however many launches are asked for.
func (q *ab) place(state string) (p abPlace, err error) {
	if p.work, err = os.Getwd(); err != nil {
		return p, err
	}
	// Only strings and numbers, which JSON takes.
	what, _ := json.Marshal([]any{q.arms[0].Text, q.arms[1].Text, q.env, q.url, q.asked, q.model, q.api, q.pp, q.tg, q.depth, q.concurrency, q.requests, q.warmup, q.caches})
	sum := sha256.Sum256(what)
	p.folder = filepath.Join(abFolder, hex.EncodeToString(sum[:4]))
	p.state = filepath.Join(p.folder, stateName)
	if state != "" {
		p.folder, p.state = state, state
	}
	p.plan = filepath.Join(p.folder, "ab.hcl")
	return p, nil
}
