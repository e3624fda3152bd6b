package openai

import (
	"encoding/binary"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

const (
	// logChunk is the size of the pieces that a log grows by: some seventy events,
	// so that two thousand streams at once need no more than they fill.
	logChunk = 512
	// maxRecord is the most that one record can take: a byte and three varints.
	maxRecord = 1 + 3*binary.MaxVarintLen64
)

// What a record's first byte says beside the kind.
const (
	kindBits  = 1<<3 - 1
	sameTime  = 1 << 3
	uncounted = 1 << 4
	noBytes   = 1 << 5
)

// eventLog keeps the events of a stream while it runs. An event takes seven
// bytes where measure.Event takes 32: its time and its count are kept as
// differences from the event before. Nothing is rounded.
type eventLog struct {
	chunks [][]byte
	n      int
	// at and tokens are those of the last event; tokens of the last that had any.
	at     time.Duration
	tokens int
}

func (l *eventLog) add(e measure.Event) {
	last := len(l.chunks) - 1
	if last < 0 || cap(l.chunks[last])-len(l.chunks[last]) < maxRecord {
		l.chunks = append(l.chunks, make([]byte, 0, logChunk))
		last++
	}
	b := l.chunks[last]
	head := len(b)
	b = append(b, byte(e.Kind)&kindBits)
	if e.At == l.at {
		b[head] |= sameTime
	} else {
		b = binary.AppendVarint(b, int64(e.At-l.at))
	}
	if e.Tokens < 0 {
		b[head] |= uncounted
	} else {
		b = binary.AppendVarint(b, int64(e.Tokens-l.tokens))
		l.tokens = e.Tokens
	}
	if e.Bytes == 0 {
		b[head] |= noBytes
	} else {
		b = binary.AppendUvarint(b, uint64(e.Bytes))
	}
	l.chunks[last], l.at, l.n = b, e.At, l.n+1
}

// events are the events as they were added; a count below zero comes back as -1.
func (l *eventLog) events() []measure.Event {
	if l.n == 0 {
		return nil
	}
	all := make([]measure.Event, 0, l.n)
	var at time.Duration
	tokens := 0
	for _, b := range l.chunks {
		for len(b) > 0 {
			head := b[0]
			b = b[1:]
			e := measure.Event{Kind: measure.Kind(head & kindBits), Tokens: -1}
			if head&sameTime == 0 {
				d, n := binary.Varint(b)
				at, b = at+time.Duration(d), b[n:]
			}
			if head&uncounted == 0 {
				d, n := binary.Varint(b)
				tokens, b = tokens+int(d), b[n:]
				e.Tokens = tokens
			}
			if head&noBytes == 0 {
				size, n := binary.Uvarint(b)
				e.Bytes, b = int(size), b[n:]
			}
			e.At = at
			all = append(all, e)
		}
	}
	return all
}
