package ledger

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
)

// Draw is the seed of the texts that a launch was sent. It becomes known with the
// launch's record, after they were sent.
type Draw struct {
	Seed string `json:"seed"`
	// Step is its number among the run's draws, from 1.
	Step int `json:"step"`
}

// maxDraws is more launches than a run makes.
const maxDraws = 1 << 14

// hashed is the draw before one: a draw reveals earlier ones, and none to come.
func hashed(seed string) string {
	sum := sha256.Sum256([]byte("mxflow draw 1\n" + seed))
	return hex.EncodeToString(sum[:])
}

// hashesTo reports whether a draw's hashes lead to an earlier one, or to the run's
// commitment, which is draw 0.
func (d Draw) hashesTo(earlier Draw) bool {
	if d.Step > maxDraws {
		return false
	}
	seed := d.Seed
	for range d.Step - earlier.Step {
		seed = hashed(seed)
	}
	return seed == earlier.Seed
}

// revealedDraws are the draws of a run revealed by launches on record.
type revealedDraws struct {
	// last is the furthest verified draw, open the earlier steps not revealed: of
	// launches that run in parallel with the one that revealed last, or that were never recorded.
	last Draw
	open map[int]bool
}

// take reports whether a draw is committed and was not revealed before, and marks it
// revealed.
func (d *revealedDraws) take(next Draw) bool {
	if d == nil {
		return false
	}
	if next.Step <= d.last.Step {
		if !d.open[next.Step] || !d.last.hashesTo(next) {
			return false
		}
		delete(d.open, next.Step)
		return true
	}
	if !next.hashesTo(d.last) {
		return false
	}
	for step := d.last.Step + 1; step < next.Step; step++ {
		d.open[step] = true
	}
	d.last = next
	return true
}

// Draws are the draws of one run, in a hash chain: the run's record holds its end, and
// each launch reveals the link before. So nobody could choose a launch's texts after the
// run started, nor know them before they were sent.
type Draws struct {
	mu    sync.Mutex
	links []string // starting with the end
	taken int
}

// NewDraws returns the draws of a new run, and its commitment.
func NewDraws() (draws *Draws, committed string) {
	links := []string{hashed(rand.Text())}
	for len(links) <= maxDraws {
		links = append(links, hashed(links[len(links)-1]))
	}
	slices.Reverse(links)
	return &Draws{links: links}, links[0]
}

// Next is the draw of the next launch; none beyond the run's maximum, or if nothing is
// drawn (nil).
func (d *Draws) Next() Draw {
	if d == nil {
		return Draw{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.taken++; d.taken >= len(d.links) {
		return Draw{}
	}
	return Draw{d.links[d.taken], d.taken}
}
