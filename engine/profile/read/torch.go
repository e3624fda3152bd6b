package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/profile"
)

// Limits of one event's contents: template names are long, and nothing else is.
const (
	firstBuffer = 1 << 20
	maxEvent    = 16 << 20
)

// readTorch reads events in the format of Chrome's traces, as written by PyTorch's
// profiler and by our own engines. What is read is not kept.
func readTorch(r io.Reader, file *profile.File, o profile.Options) ([]profile.Part, error) {
	t := &torch{
		scanner: scanner{r: r, buf: make([]byte, 0, firstBuffer)}, b: profile.NewBuilder(o), ids: map[string]int64{},
		naming: profile.Naming{Processes: map[int64]string{}, Threads: map[profile.ThreadID]string{}, Owners: map[int64]string{}},
	}
	err := t.document()
	if err != nil {
		return nil, fmt.Errorf("byte %d: %w", t.offset(), damaged(err))
	}
	if !t.found {
		return nil, errors.New("JSON without traceEvents: " + ErrFormat.Error())
	}
	return t.b.Build(file, t.naming)
}

type torch struct {
	scanner
	b      *profile.Builder
	naming profile.Naming
	ids    map[string]int64
	found  bool
	// based is set if the file has the start time of its clock.
	based bool
	e     event
}

// event is the part of one entry that is read. All fields refer to the buffer.
type event struct {
	ph                     byte
	cat, name, pid, tid    []byte
	ts, dur                []byte
	correlation, id, label []byte
}

// document reads an object with traceEvents among others, or only their array.
func (t *torch) document() error {
	c, err := t.next()
	switch {
	case err != nil:
		return err
	case c == '[':
		return t.events()
	case c != '{':
		return fmt.Errorf("found %q, expected { or [ at the start of a trace", c)
	}
	t.pos++
	for first := true; ; first = false {
		c, err := t.next()
		if err != nil {
			return err
		}
		if c == '}' {
			return nil
		}
		if !first {
			if c != ',' {
				return fmt.Errorf("found %q, expected , or }", c)
			}
			t.pos++
			if _, err = t.next(); err != nil {
				return err
			}
		}
		key, err := t.token()
		if err != nil {
			return err
		}
		if c, err = t.next(); err != nil {
			return err
		}
		if c != ':' {
			return fmt.Errorf("found %q, expected a colon", c)
		}
		t.pos++
		if c, err = t.next(); err != nil {
			return err
		}
		switch {
		case key == "traceEvents" && c == '[':
			err = t.events()
		case key == "baseTimeNanoseconds":
			var base string
			if base, err = t.token(); err == nil {
				if ns, e := strconv.ParseInt(base, 10, 64); e == nil {
					t.b.Clock(ns)
					t.based = true
				}
			}
		default:
			err = t.skip()
		}
		if err != nil {
			return err
		}
	}
}

// events goes over the array.
func (t *torch) events() error {
	t.found = true
	t.pos++
	for first := true; ; first = false {
		c, err := t.next()
		if err != nil {
			return err
		}
		if c == ']' {
			t.pos++
			return nil
		}
		if !first {
			if c != ',' {
				return fmt.Errorf("found %q, expected , or ]", c)
			}
			t.pos++
			if c, err = t.next(); err != nil {
				return err
			}
		}
		if c != '{' {
			return fmt.Errorf("found %q, expected { at the start of an event", c)
		}
		for {
			t.e = event{}
			n, err := t.e.parse(t.buf[t.pos:])
			if err == nil {
				if err = t.take(&t.e); err != nil {
					return err
				}
				t.pos += n
				break
			}
			if !errors.Is(err, errShort) {
				return err
			}
			if err = t.fill(); err != nil {
				return err
			}
		}
	}
}

// take passes an event to the builder.
func (t *torch) take(e *event) error {
	switch e.ph {
	case 'M':
		return t.meta(e)
	case 'X':
	default:
		return nil
	}
	kind := kindOf(e.cat)
	if kind == "" {
		return nil
	}
	start, err := ns(e.ts)
	if err != nil {
		return fmt.Errorf("ts of %.60q: %w", e.name, err)
	}
	long, err := ns(e.dur)
	if err != nil {
		return fmt.Errorf("dur of %.60q: %w", e.name, err)
	}
	if !t.based && start > 1e18 {
		// Before 2.4 PyTorch wrote the wall clock itself.
		t.b.Clock(0)
		t.based = true
	}
	end := start + long
	correlation, _ := strconv.ParseUint(string(e.correlation), 10, 32)
	switch kind {
	case "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation":
		name, err := text(e.name)
		if err != nil {
			return err
		}
		lane, err := t.b.Lane(0, t.id(e.pid), t.id(e.tid))
		if err != nil {
			return err
		}
		if kind == "gpu_user_annotation" {
			id, _ := strconv.ParseInt(string(e.id), 10, 64)
			t.b.Mark(start, end, lane, id, string(name))
			return nil
		}
		return t.b.Activity(start, end, lane, t.b.Name(name), uint32(correlation))
	}
	if kind == "python_function" && string(bytes.Trim(e.tid, `"`)) == "0" {
		return nil // threads that Kineto cannot name, such as sleeping watchdogs; none has this ID
	}
	thread := t.b.Thread(t.id(e.pid), t.id(e.tid))
	switch kind {
	case "cuda_runtime", "cuda_driver":
		t.b.Launch(start, end, thread, uint32(correlation))
		if bytes.Contains(e.name, []byte("GraphLaunch")) {
			t.b.GraphLaunch(start, uint32(correlation))
		}
	case "user_annotation":
		name, err := text(e.name)
		if err != nil {
			return err
		}
		t.b.HostMark(start, end, thread, string(name))
	}
	t.b.Host(start, end, thread, t.b.Class(kind, e.name))
	return nil
}

// kindOf is the kind of an event, "" for ignored ones. PyTorch before 1.13 used other
// names.
func kindOf(cat []byte) string {
	switch string(cat) {
	case "kernel", "Kernel":
		return "kernel"
	case "gpu_memcpy", "Memcpy":
		return "gpu_memcpy"
	case "gpu_memset", "Memset":
		return "gpu_memset"
	case "gpu_user_annotation":
		return "gpu_user_annotation"
	case "user_annotation":
		return "user_annotation"
	case "cuda_runtime", "Runtime", "privateuse1_runtime", "xpu_runtime":
		return "cuda_runtime"
	case "cuda_driver", "privateuse1_driver":
		return "cuda_driver"
	case "cpu_op", "Operator":
		return "cpu_op"
	case "python_function":
		return "python_function"
	}
	return ""
}

// meta handles names of processes and threads.
func (t *torch) meta(e *event) error {
	label, err := text(e.label)
	if err != nil || len(label) == 0 || len(label) > 256 {
		return err
	}
	const most = 1 << 16
	switch string(e.name) {
	case "process_name":
		// A GPU has the name of its process, in addition to the process itself.
		if id := t.id(e.pid); len(t.naming.Processes) < most {
			t.naming.Processes[id] = string(label)
			t.naming.Owners[id] = string(label)
		}
	case "thread_name":
		if len(t.naming.Threads) < most {
			t.naming.Threads[t.b.Thread(t.id(e.pid), t.id(e.tid))] = strings.TrimSpace(string(label))
		}
	}
	return nil
}

// id is the number of a process or thread; some are words.
func (t *torch) id(of []byte) int64 {
	if n, err := strconv.ParseInt(string(of), 10, 64); err == nil {
		return n
	}
	if n, ok := t.ids[string(of)]; ok {
		return n
	}
	n := -int64(len(t.ids)) - 1000
	if len(t.ids) < 1<<16 {
		t.ids[string(of)] = n
	}
	return n
}

// ns converts µs with a fraction exactly: a trace's clock needs more digits than a float
// has.
func ns(us []byte) (int64, error) {
	us = bytes.Trim(us, `"`)
	digits := us
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	var n int64
	i := 0
	for ; i < len(digits) && digits[i] >= '0' && digits[i] <= '9' && i < 16; i++ {
		n = n*10 + int64(digits[i]-'0')
	}
	if i == 0 || n > 9e15 {
		return 0, fmt.Errorf("%.40q is not a time in µs", us)
	}
	rest := digits[i:]
	n *= 1000
	if len(rest) > 0 && rest[0] == '.' {
		unit := int64(100)
		for rest = rest[1:]; len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9'; rest = rest[1:] {
			n += int64(rest[0]-'0') * unit
			unit /= 10
		}
	}
	if len(rest) > 0 {
		f, err := strconv.ParseFloat(string(us), 64)
		if err != nil || !(f > -9e15 && f < 9e15) {
			return 0, fmt.Errorf("%.40q is not a time in µs", us)
		}
		return int64(f * 1000), nil
	}
	if negative {
		n = -n
	}
	return n, nil
}

// text is the value of a JSON string.
func text(raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, nil
	}
	var s string
	if err := json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &s); err != nil {
		return nil, fmt.Errorf("the string %.60q: %w", raw, err)
	}
	return []byte(s), nil
}
