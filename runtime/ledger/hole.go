package ledger

import (
	"errors"
	"io"
)

// sector is the least that a disk writes at once.
const sector = 512

// holed reports whether a line that does not verify, with all that follows it,
// has a hole as a power cut leaves it: a stretch of NUL bytes that begins where
// the line does or at a sector, and ends at a sector or the end of the file. A
// record never holds a NUL, and a single byte that was changed to NUL is no
// hole. at is the line's offset in the file; in stands after its LF.
func holed(line []byte, in io.ByteReader, at int64) (bool, error) {
	begin := int64(-1) // of the stretch being read
	pos := at
	next := func(b byte) (found bool) {
		if b == 0 && begin < 0 {
			begin = pos
		}
		if b != 0 && begin >= 0 {
			found = isHole(begin, pos, at, false)
			begin = -1
		}
		pos++
		return found
	}
	for _, b := range line {
		if next(b) {
			return true, nil
		}
	}
	next('\n')
	for {
		b, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return begin >= 0 && isHole(begin, pos, at, true), nil
		}
		if err != nil {
			return false, err
		}
		if next(b) {
			return true, nil
		}
	}
}

func isHole(begin, end, lineStart int64, atEnd bool) bool {
	return (begin == lineStart || begin%sector == 0) && (end%sector == 0 || atEnd)
}
