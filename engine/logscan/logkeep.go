package logscan

import (
	"bytes"
	"io"
	"maps"
	"slices"
)

// Evidence are patterns of a log that somebody will look for: their lines stay
// when the middle of a log that has grown too large is dropped.
type Evidence struct {
	// Globs are as in ParseGlob, Expressions RE2.
	Globs, Expressions []string
}

// maxKeptLine bounds one line that is kept, in bytes.
const maxKeptLine = 4 << 10

// lineKeeper finds in a part of a log the first and the last line of each
// pattern. That is bounded whatever the log, shows that a line was there, and
// leaves the last word to the last line; how many there were is lost.
type lineKeeper struct {
	scan  *Scan
	first map[int]keptLine
	last  map[int]keptLine
}

type keptLine struct {
	number int
	text   []byte
}

// newLineKeeper is nil where there is nothing to keep. A pattern that does not
// compile is left out: whoever looks for it says what is wrong with it.
func newLineKeeper(e Evidence) *lineKeeper {
	k := &lineKeeper{first: map[int]keptLine{}, last: map[int]keptLine{}}
	k.scan, _ = New(nil)
	for _, g := range e.Globs {
		_ = k.scan.addGlob(g)
	}
	for _, x := range e.Expressions {
		_, _ = k.scan.Expressions([]string{x})
	}
	if len(k.scan.sought) == 1 { // the mark of a cut, which every scan looks for
		return nil
	}
	k.scan.matched = func(pattern int, line []byte) {
		if k.scan.sought[pattern].cut {
			return
		}
		kept := keptLine{k.scan.lines, slices.Clone(line[:min(len(line), maxKeptLine)])}
		if _, seen := k.first[pattern]; !seen {
			k.first[pattern] = kept
		}
		k.last[pattern] = kept
	}
	return k
}

// read looks at the next bytes that will be dropped.
func (k *lineKeeper) read(r io.Reader) error {
	if k == nil {
		return nil
	}
	_, err := io.Copy(k.scan, r)
	return err
}

// lines are what is to be kept, in the order of the log, each with its \n. The
// keeper begins anew.
func (k *lineKeeper) lines() []byte {
	if k == nil {
		return nil
	}
	k.scan.flush()
	byNumber := map[int]map[string]bool{}
	for _, found := range []map[int]keptLine{k.first, k.last} {
		for _, line := range found {
			if byNumber[line.number] == nil {
				byNumber[line.number] = map[string]bool{}
			}
			byNumber[line.number][string(line.text)] = true
		}
	}
	clear(k.first)
	clear(k.last)
	var out bytes.Buffer
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		for _, text := range slices.Sorted(maps.Keys(byNumber[n])) {
			out.WriteString(text + "\n")
		}
	}
	return out.Bytes()
}
