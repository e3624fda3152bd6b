package remote

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
)

// version is the protocol's version; both sides are the same program, so it only detects
// other programs.
const version = 1

const (
	// aliveEvery is how often each side sends a sign of life, and Silence how long the
	// other may be silent before it counts as gone.
	aliveEvery = 10 * time.Second
	Silence    = time.Minute
	// mostNoise is how much a login may print before the worker's first line, longest the
	// maximum size of one message, in bytes.
	mostNoise, longest = 256 << 10, 1 << 30
)

// Message is one line of the protocol, and the bytes after it.
type Message struct {
	// MXFlow is version; a line without it is not a message.
	MXFlow int `json:"mxflow"`
	// One of these is set; none is a sign of life.
	Hello  *Hello              `json:"hello,omitempty"`
	Ready  *Ready              `json:"ready,omitempty"`
	Order  *launch.Order       `json:"order,omitempty"`
	Stop   bool                `json:"stop,omitempty"`
	Event  *runtime.Event      `json:"event,omitempty"`
	Done   *launch.OrderResult `json:"done,omitempty"`
	Failed verdict.Reason      `json:"failed,omitzero"`
	// Sum is the digest of an artifact that follows, or of Done's text.
	Sum   string `json:"sum,omitempty"`
	Bytes int    `json:"bytes,omitempty"`

	Data []byte `json:"-"`
}

// Hello is what a worker must know before its first order. It is not stored anywhere: the
// inputs include sensitive ones.
type Hello struct {
	// Dir is mxflow's working folder, and Plan the plan's path from there.
	Dir  string `json:"dir"`
	Plan string `json:"plan"`
	// Inputs are what the plan was loaded with, Digest the resulting plan's digest.
	Inputs plans.Inputs `json:"inputs"`
	Digest string       `json:"digest"`
	// Seal is the key that distinguishes sensitive values.
	Seal []byte `json:"seal"`
	// Since is the run from which on launches count of what cannot be identified.
	Since string `json:"since"`
	// Owner marks what is started.
	Owner   string `json:"owner"`
	Program string `json:"program"`
	// Host, Devices, Job and its Slot, from 1, are where the worker runs, as far as its
	// starter knows.
	Host    string   `json:"host,omitempty"`
	Devices []string `json:"devices,omitempty"`
	Job     string   `json:"job,omitempty"`
	Slot    int      `json:"slot,omitempty"`
}

// Ready announces a worker that takes orders.
type Ready struct {
	Place *ledger.Place `json:"place"`
	// Job is the scheduler's; empty if there is none.
	Job string `json:"job,omitempty"`
}

type Wire struct {
	mu  sync.Mutex
	out io.Writer
	in  *bufio.Reader
	// noise is the bytes read before the first message.
	noise int
	began bool
}

// NewWire is one side of a connection.
func NewWire(in io.Reader, out io.Writer) *Wire {
	return &Wire{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

func (w *Wire) Send(m Message) error {
	m.MXFlow, m.Bytes = version, len(m.Data)
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.out.Write(append(append(line, '\n'), m.Data...))
	return err
}

// Receive reads the next message. Output of a login before the first is skipped.
func (w *Wire) Receive() (m Message, err error) {
	for {
		line, err := w.line()
		if err != nil {
			return m, err
		}
		m = Message{}
		err = json.Unmarshal(line, &m)
		if !w.began && (err != nil || m.MXFlow == 0) {
			if w.noise += len(line); w.noise > mostNoise {
				return m, damaged{errors.New("the other end is not mxflow")}
			}
			continue
		}
		if err == nil && m.MXFlow != version {
			err = fmt.Errorf("it speaks version %d of the worker protocol, this mxflow version %d", m.MXFlow, version)
		}
		if err == nil && (m.Bytes < 0 || m.Bytes > longest) {
			err = fmt.Errorf("a message of %d bytes", m.Bytes)
		}
		if err != nil {
			return m, damaged{err}
		}
		w.began = true
		// Memory is allocated as bytes arrive, not by the announced size.
		m.Data, err = io.ReadAll(io.LimitReader(w.in, int64(m.Bytes)))
		if err == nil && len(m.Data) < m.Bytes {
			err = io.ErrUnexpectedEOF
		}
		return m, err
	}
}

// line reads to the end of a line, up to a limit.
func (w *Wire) line() (line []byte, err error) {
	for {
		part, err := w.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > longest, !w.began && len(line) > mostNoise:
			return nil, damaged{errors.New("a line without an end")}
		}
	}
}

// StayAlive sends signs of life until done is closed.
func (w *Wire) StayAlive(done <-chan struct{}) {
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if w.Send(Message{}) != nil {
				return
			}
		}
	}
}

// damaged is the error for received data that differ from what was sent.
type damaged struct{ error }

// Sum is the digest of a result and of the artifacts before it.
func Sum(d *launch.OrderResult) (string, error) {
	text, err := json.Marshal(d)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

func ProgramSum() (path, sum string, err error) {
	if path, err = os.Executable(); err != nil {
		return "", "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return path, hex.EncodeToString(h.Sum(nil)), err
}
