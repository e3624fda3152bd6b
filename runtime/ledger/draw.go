package ledger

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
)

// Draw is what the texts that a launch was sent were drawn from. It becomes known
// with the launch's record, when they have been sent.
type Draw struct {
	Seed string `json:"seed"`
	// Step is which of its run's draws it is, from 1.
	Step int `json:"step"`
}

// maxDraws is more launches than a run makes.
const maxDraws = 1 << 14

// hashed is the draw before one: whoever knows a draw knows those before it, and none
// of those to come.
func hashed(seed string) string {
	sum := sha256.Sum256([]byte("mxflow draw 1\n" + seed))
	return hex.EncodeToString(sum[:])
}

// leads reports whether a draw's hashes lead to an earlier one, or to what the run
// committed itself to, which is draw 0.
func (d Draw) leads(earlier Draw) bool {
	if d.Step > maxDraws {
		return false
	}
	seed := d.Seed
	for range d.Step - earlier.Step {
		seed = hashed(seed)
	}
	return seed == earlier.Seed
}

// drawn are the draws of a run that launches on record have shown.
type drawn struct {
	// last is the furthest that was found to be committed, open the steps before it that
	// were not shown: of launches that run beside the one that showed last, or that were
	// never recorded.
	last Draw
	open map[int]bool
}

// take reports whether a draw is committed and was not shown before, and shows it.
func (d *drawn) take(next Draw) bool {
	if d == nil {
		return false
	}
	if next.Step <= d.last.Step {
		if !d.open[next.Step] || !d.last.leads(next) {
			return false
		}
		delete(d.open, next.Step)
		return true
	}
	if !next.leads(d.last) {
		return false
	}
	for step := d.last.Step + 1; step < next.Step; step++ {
		d.open[step] = true
	}
	d.last = next
	return true
}

// Draws are the draws of one run, in a chain of hashes: the run's record holds its
// end, and each launch shows the link before. So nobody could choose the texts of a
// launch after the run began, nor know them before they were sent.
type Draws struct {
	mu    sync.Mutex
	links []string // from the end on
	taken int
}

// NewDraws are those of a run that begins, and what it commits itself to.
func NewDraws() (draws *Draws, committed string) {
	links := []string{hashed(rand.Text())}
	for len(links) <= maxDraws {
		links = append(links, hashed(links[len(links)-1]))
	}
	slices.Reverse(links)
	return &Draws{links: links}, links[0]
}

// Next is the draw of the next launch; none beyond what a run makes, nor where nothing
// is drawn (nil).
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
