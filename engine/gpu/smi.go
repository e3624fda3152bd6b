package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/logscan"
)

// field is one thing to ask nvidia-smi for. Drivers know it by one of several
// words, the newest first.
type field struct {
	name  string
	words []string
}

// fields are asked for all at once. The first three cannot be done without.
var fields = []field{
	{"index", []string{"index"}},
	{"uuid", []string{"uuid", "gpu_uuid"}},
	{"name", []string{"name", "gpu_name"}},
	{"driver_version", []string{"driver_version"}},
	{"pci.bus_id", []string{"pci.bus_id"}},
	{"compute_cap", []string{"compute_cap"}},
	{"vbios_version", []string{"vbios_version"}},
	{"pstate", []string{"pstate"}},
	{"temperature.gpu", []string{"temperature.gpu"}},
	{"memory.total", []string{"memory.total"}},
	{"memory.used", []string{"memory.used"}},
	{"utilization.gpu", []string{"utilization.gpu"}},
	{"power.draw", []string{"power.draw"}},
	{"power.limit", []string{"power.limit"}},
	{"power.default_limit", []string{"power.default_limit"}},
	{"clocks.current.sm", []string{"clocks.current.sm", "clocks.sm"}},
	{"clocks.current.memory", []string{"clocks.current.memory", "clocks.mem"}},
	{"clocks.max.sm", []string{"clocks.max.sm"}},
	{"clocks.max.memory", []string{"clocks.max.memory"}},
	{"clocks.applications.graphics", []string{"clocks.applications.graphics"}},
	{"clocks.applications.memory", []string{"clocks.applications.memory"}},
	{"clocks_event_reasons.active", []string{"clocks_event_reasons.active", "clocks_throttle_reasons.active"}},
	{"persistence_mode", []string{"persistence_mode"}},
	{"compute_mode", []string{"compute_mode"}},
	{"ecc.mode.current", []string{"ecc.mode.current"}},
	{"mig.mode.current", []string{"mig.mode.current"}},
}

// timeLimit bounds one call: with a driver that hangs, nvidia-smi does too.
const timeLimit = 20 * time.Second

// ErrNone says that this machine has no nvidia-smi, or that it sees no GPU.
var ErrNone = errors.New("this machine has no NVIDIA GPU")

// findSMI is where nvidia-smi is; the error wraps ErrNone.
func findSMI() (string, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return "", fmt.Errorf("%w: nvidia-smi is not in PATH", ErrNone)
	}
	return path, nil
}

// smi runs nvidia-smi. The error wraps ErrNone where there is nothing to ask.
func smi(ctx context.Context, args ...string) (string, error) {
	path, err := findSMI()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	out, complaint, err := output(cmd)
	if err == nil {
		if strings.HasPrefix(strings.TrimSpace(out), "No devices were found") {
			return "", fmt.Errorf("%w: nvidia-smi found no device", ErrNone)
		}
		return out, nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("nvidia-smi did not answer: %w", ctx.Err())
	}
	if errors.Is(err, errTooMuch) {
		return "", fmt.Errorf("%s printed %w, which nvidia-smi never does: check what that program is", path, errTooMuch)
	}
	said := out + complaint // it complains on standard output
	for _, none := range []string{"No devices were found", "couldn't communicate with the NVIDIA driver", "couldn't find libnvidia-ml", "NVML library"} {
		if strings.Contains(said, none) {
			return "", fmt.Errorf("%w: nvidia-smi says %q", ErrNone, logscan.Clean(strings.TrimSpace(said)))
		}
	}
	return "", &smiError{said: said, err: err}
}

// smiError is a refusal of nvidia-smi, in its own words.
type smiError struct {
	said string
	err  error
}

func (e *smiError) Error() string {
	return fmt.Sprintf("nvidia-smi failed (%v): %s", e.err, logscan.Clean(strings.TrimSpace(e.said)))
}

func (e *smiError) Unwrap() error { return e.err }

var unknownField = regexp.MustCompile(`Field "([^"]+)" is not a valid field`)

// List asks for all GPUs. Without a GPU the list is empty and the error nil;
// List is the same question to the driver each time, so values of the moment are
// those of the moment.
func List(ctx context.Context) ([]GPU, error) {
	out, asked, err := query(ctx, fields, 4)
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseGPUs(out, asked)
}

// query asks for fields of GPUs, of which the first needed ones cannot be done
// without, and says which it got. args name the GPUs, none means all.
//
// One field that the driver does not know makes nvidia-smi refuse the whole
// question. It is then asked again by its older word, in the end without it.
func query(ctx context.Context, ask []field, needed int, args ...string) (out string, asked []field, err error) {
	for ask = slices.Clone(ask); ; {
		out, err := smi(ctx, append([]string{question(ask), "--format=csv,noheader,nounits"}, args...)...)
		if err == nil {
			return out, ask, nil
		}
		var refused *smiError
		if !errors.As(err, &refused) {
			return "", nil, err
		}
		if ask = without(ask, needed, refused.said); ask == nil {
			return "", nil, err
		}
	}
}

// question is the argument that asks for fields.
func question(ask []field) string {
	words := make([]string, len(ask))
	for i, f := range ask {
		words[i] = f.words[0]
	}
	return "--query-gpu=" + strings.Join(words, ",")
}

// without drops the word that nvidia-smi refuses. Where it names none, only the
// needed fields, which every driver knows, are left; nil when there is nothing to
// drop.
func without(ask []field, needed int, said string) []field {
	m := unknownField.FindStringSubmatch(said)
	if m == nil {
		if len(ask) <= needed {
			return nil
		}
		return slices.Clone(ask[:needed])
	}
	for i, f := range ask {
		if f.words[0] != m[1] {
			continue
		}
		next := slices.Clone(ask)
		if len(f.words) > 1 {
			next[i] = field{f.name, f.words[1:]}
			return next
		}
		return slices.Delete(next, i, i+1)
	}
	return nil
}

// maxOutput bounds what is kept of one answer: a GPU is asked for some hundred
// bytes, so that even a large machine stays far below it.
const maxOutput = 16 << 20

// errTooMuch says that a program printed more than nvidia-smi ever does.
var errTooMuch = fmt.Errorf("more than %d MiB of output", maxOutput>>20)

// output runs a command and returns what it printed on its two outputs. The
// error wraps errTooMuch where that is more than maxOutput; the command is then
// ended, by the pipe that nobody reads any more.
func output(cmd *exec.Cmd) (stdout, stderr string, err error) {
	var out, complaint atMost
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	if out.over || complaint.over {
		err = errors.Join(errTooMuch, err)
	}
	return out.buf.String(), complaint.buf.String(), err
}

// atMost keeps what is written until it is too much. It embeds no buffer, whose
// ReadFrom would be used in place of Write.
type atMost struct {
	buf  bytes.Buffer
	over bool
}

func (a *atMost) Write(p []byte) (int, error) {
	if a.buf.Len()+len(p) > maxOutput {
		a.over = true
		return 0, errTooMuch
	}
	return a.buf.Write(p)
}
