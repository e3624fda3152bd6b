package docker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// demux takes a container's log apart. The daemon sends frames: a byte for the
// stream (1 is stdout, 2 stderr, 3 an error of its own), three zeros, the length
// as four bytes, big end first, and then a timestamp, a space, and a line or a
// piece of one. The timestamps are how a log that broke off is taken up again
// without a gap: the daemon gives all from an instant on, and what was already
// had at that very instant is counted.
type demux struct {
	out, log io.Writer
	// live frames are those of a container that one is attached to: they carry no
	// timestamp.
	live bool
	// last is the newest timestamp, at how many frames carried it.
	last string
	at   int
	// skip is how many frames of last are still to come again, resumed says that
	// the next frame is the first since the log was taken up again.
	skip    int
	resumed bool
}

const (
	frameHeader = 8
	// frameLimit is more than a daemon ever sends: it cuts lines at 16 KiB.
	frameLimit = 16 << 20
	logBuffer  = 64 << 10
)

var errFrame = errors.New("the daemon sends something else than a log")

// since is where to take the log up again, as the daemon reads it; empty takes
// all.
func (d *demux) since() string {
	at, err := time.Parse(time.RFC3339Nano, d.last)
	if err != nil {
		return ""
	}
	d.skip, d.resumed = d.at, true
	return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond())
}

// read copies until the stream ends. Frames are gathered while more of them lie
// ready, so that a flood costs few writes.
func (d *demux) read(stream io.Reader) error {
	from := bufio.NewReaderSize(stream, logBuffer)
	out := bufio.NewWriterSize(d.out, logBuffer)
	log := out
	if d.log != d.out {
		log = bufio.NewWriterSize(d.log, logBuffer)
	}
	defer func() { _, _ = out.Flush(), log.Flush() }()
	var header [frameHeader]byte
	var frame bytes.Buffer
	for {
		if from.Buffered() == 0 {
			_, _ = out.Flush(), log.Flush()
		}
		if _, err := io.ReadFull(from, header[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(header[4:])
		if size > frameLimit || header[0] > 3 {
			return errFrame
		}
		frame.Reset()
		if _, err := io.CopyN(&frame, from, int64(size)); err != nil {
			return err
		}
		to := log
		if header[0] == 1 {
			to = out
		}
		if header[0] == 3 {
			fmt.Fprintf(log, "[mxflow] docker says of this log: %s\n", frame.Bytes())
			continue
		}
		if d.live {
			_, _ = to.Write(frame.Bytes())
			continue
		}
		d.put(to, log, frame.Bytes())
	}
}

// lost goes over from live frames to the log that the daemon keeps, from now on.
func (d *demux) lost() {
	d.live, d.last, d.at = false, time.Now().UTC().Format(time.RFC3339Nano), 0
}

// put writes one frame without its timestamp, unless it came before.
func (d *demux) put(to, log io.Writer, frame []byte) {
	stamp, text, ok := bytes.Cut(frame, []byte{' '})
	if !ok {
		_, _ = to.Write(frame)
		return
	}
	switch {
	case string(stamp) != d.last:
		if d.resumed {
			// What came before is not there any more.
			_, _ = io.WriteString(log, "\n[mxflow] the log was interrupted here: lines may be missing\n")
		}
		d.last, d.at, d.skip = string(stamp), 1, 0
	case d.skip > 0:
		d.skip, d.resumed = d.skip-1, false
		return
	default:
		d.at++
	}
	d.resumed = false
	_, _ = to.Write(text)
}
