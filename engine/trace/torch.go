package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// torchEvent is the part of one entry that is read, of the format of Chrome's traces.
type torchEvent struct {
	Phase    string          `json:"ph"`
	Category string          `json:"cat"`
	Name     string          `json:"name"`
	Process  json.RawMessage `json:"pid"`
	Thread   json.RawMessage `json:"tid"`
	Start    json.Number     `json:"ts"`
	Duration json.Number     `json:"dur"`
	Args     struct {
		Correlation json.RawMessage `json:"correlation"`
		External    json.RawMessage `json:"External id"`
		Name        json.RawMessage `json:"name"`
	} `json:"args"`
}

// readTorch reads events as written by PyTorch's profiler and by our own engines: an
// object with traceEvents among others, or only their array.
func readTorch(r io.Reader, file *File, o Options) ([]Part, error) {
	t := &torch{Decoder: json.NewDecoder(r), capture: newCapture(o)}
	err := t.document()
	if err == nil {
		_, err = io.Copy(io.Discard, r) // gzip's checksum is at the end
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("byte %d: %w", t.InputOffset(), damaged(err))
	case !t.hasEvents:
		return nil, errors.New("JSON without traceEvents: " + ErrFormat.Error())
	}
	return t.analysis(file)
}

type torch struct {
	*json.Decoder
	*capture
	hasEvents bool
}

func (t *torch) document() error {
	first, err := t.Token()
	if err != nil {
		return err
	}
	if first == json.Delim('[') {
		return t.events()
	}
	for t.More() {
		key, err := t.Token()
		if err != nil {
			return err
		}
		switch key {
		case "traceEvents":
			if open, err := t.Token(); err != nil || open != json.Delim('[') {
				return errors.Join(err, errors.New("traceEvents is not a list"))
			}
			err = t.events()
		case "baseTimeNanoseconds":
			err = t.Decode(&t.epoch)
			t.clocked = err == nil
		default:
			err = t.Decode(&json.RawMessage{})
		}
		if err != nil {
			return err
		}
	}
	_, err = t.Token()
	return err
}

// events goes over the list. What is read is not kept.
func (t *torch) events() error {
	t.hasEvents = true
	for t.More() {
		e := torchEvent{}
		if err := t.Decode(&e); err != nil {
			return err
		}
		if err := t.take(&e); err != nil {
			return err
		}
	}
	_, err := t.Token()
	return err
}

func (t *torch) take(e *torchEvent) error {
	process, id := plain(e.Process), plain(e.Thread)
	switch {
	case e.Phase == "M" && e.Name == "process_name":
		// A GPU has the name of its process, in addition to the process itself.
		t.processes[process] = plain(e.Args.Name)
	case e.Phase == "M" && e.Name == "thread_name":
		t.thread(process, id).name = strings.TrimSpace(plain(e.Args.Name))
	}
	if e.Phase != "X" {
		return nil
	}
	switch e.Category {
	case "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "user_annotation", "cuda_runtime",
		"cuda_driver", "cpu_op":
	case "python_function":
		if id == "0" {
			return nil // threads that Kineto cannot name, such as sleeping watchdogs; none has this ID
		}
	default:
		return nil
	}
	start, err := ofMicroseconds(e.Start)
	if err != nil {
		return fmt.Errorf("ts of %.60q: %w", e.Name, err)
	}
	long, err := ofMicroseconds(e.Duration)
	if err != nil {
		return fmt.Errorf("dur of %.60q: %w", e.Name, err)
	}
	end := start + long
	number, _ := strconv.ParseUint(plain(e.Args.Correlation), 10, 32)
	correlation := uint32(number)
	switch e.Category {
	case "gpu_user_annotation":
		t.mark(&t.gpu(process).marks, start, end, plain(e.Args.External), e.Name)
		return nil
	case "kernel", "gpu_memcpy", "gpu_memset":
		return t.activity(start, end, process, e.Name, correlation)
	case "cuda_runtime", "cuda_driver":
		t.call(start, end, t.thread(process, id), correlation)
		if strings.Contains(e.Name, "GraphLaunch") {
			t.graph(start, correlation)
		}
	case "user_annotation":
		t.mark(&t.thread(process, id).marks, start, end, "", e.Name)
	}
	t.doing(start, end, t.thread(process, id), e.Category, e.Name)
	return nil
}

// plain is a number or a string as text: some IDs are words.
func plain(raw json.RawMessage) string {
	s := string(raw)
	if strings.HasPrefix(s, `"`) {
		_ = json.Unmarshal(raw, &s) // as read before
	}
	return s
}

// ofMicroseconds converts µs in any form of a JSON number exactly to ns: a trace's clock
// needs more digits than a float has.
func ofMicroseconds(us json.Number) (int64, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(us)), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift, _ := strconv.Atoi(cmp.Or(exponent, "0"))
	const most = 40 // more would be no time, or none
	digits := "0" + strings.TrimPrefix(whole, "-")
	switch shift = min(max(shift, -most), most) + 3; {
	case shift < 0:
		digits = digits[:max(len(digits)+shift, 1)]
	default: // of the fraction, as many digits are before the point of ns
		digits += (fraction + strings.Repeat("0", most+3))[:shift]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || whole == "" || n >= 1<<62 {
		return 0, fmt.Errorf("%.40q is not a time in µs", us)
	}
	if whole[0] == '-' {
		n = -n
	}
	return n, nil
}
