package logscan

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mxflow/mxflow/internal/foreign"
)

// NearLine is a line that has much of a glob's text.
type NearLine struct {
	// LineNo is its line number as an editor shows it, from 1; Line is safe to print.
	LineNo int
	Line   string
	shared int
	key    string
}

// aboutRequest matches what servers log of each request.
var aboutRequest = regexp.MustCompile(`\b(get|post) +"?/`)

// nearest is how many lines are named.
const nearest = 3

// Nearest are the three lines of a log that are nearest to a glob, the nearest first. How
// near a line is, is how many of the glob's runs of three bytes it has, in lower case: at
// least a quarter of them, or it is not near. Of equally near lines the earlier goes
// first, and of those that differ in digits only, as in their times, one counts.
//
// With a line given as after, they are among those behind it, however far from the glob, that
// do not occur before it and are not about an HTTP request.
func Nearest(log io.Reader, glob string, after int) ([]NearLine, error) {
	g, err := ParseGlob(glob)
	if err != nil {
		return nil, err
	}
	runs := map[[3]byte]int{} // and the last line that had it
	for _, text := range slices.Concat(g.alternatives...) {
		for i := range max(0, len(text)-2) {
			runs[[3]byte(text[i:])] = 0
		}
	}
	var near []NearLine
	early := map[string]bool{}
	drawn := 0
	_, err = eachLine(log, func(number int, line []byte) {
		drawn++
		lower := bytes.ToLower(line)
		shared := 0
		for i := range max(0, len(lower)-2) {
			run := [3]byte(lower[i:])
			if last, ours := runs[run]; ours && last != drawn {
				runs[run] = drawn
				shared++
			}
		}
		switch {
		case after == 0 && (shared == 0 || 4*shared < len(runs)), number > after && len(near) == nearest &&
			shared <= near[nearest-1].shared:
			return
		}
		l := NearLine{LineNo: number, Line: foreign.Clean(line), shared: shared, key: strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) { // what differs between repetitions
				return -1
			}
			return r
		}, string(lower))}
		if early[l.key] = early[l.key] || number <= after; early[l.key] || after > 0 && aboutRequest.Match(lower) {
			return
		}
		if i := slices.IndexFunc(near, func(n NearLine) bool { return n.key == l.key }); i >= 0 {
			if shared <= near[i].shared {
				return
			}
			near = slices.Delete(near, i, i+1)
		}
		at := slices.IndexFunc(near, func(n NearLine) bool { return n.shared < shared })
		if at < 0 {
			at = len(near)
		}
		near = slices.Insert(near, at, l)
		near = near[:min(len(near), nearest)]
	})
	return near, err
}
