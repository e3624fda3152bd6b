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

// field is one field to query from nvidia-smi. Drivers know it under one of several
// names, the newest first.
type field struct {
	name  string
	words []string
}

// fields are queried all at once. The first three are required.
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

// timeLimit bounds one call: if a driver hangs, nvidia-smi does too.
const timeLimit = 20 * time.Second

// ErrNone means that this machine has no nvidia-smi, or that it sees no GPU.
var ErrNone = errors.New("this machine has no NVIDIA GPU")

// findSMI is the path of nvidia-smi; the error wraps ErrNone.
func findSMI() (string, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return "", fmt.Errorf("%w: nvidia-smi is not in PATH", ErrNone)
	}
	return path, nil
}

// smi runs nvidia-smi. The error wraps ErrNone if there is nothing to query.
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
	said := out + complaint // it reports errors on standard output
	for _, none := range []string{"No devices were found", "couldn't communicate with the NVIDIA driver", "couldn't find libnvidia-ml", "NVML library"} {
		if strings.Contains(said, none) {
			return "", fmt.Errorf("%w: nvidia-smi says %q", ErrNone, logscan.Clean(strings.TrimSpace(said)))
		}
	}
	return "", &smiError{said: said, err: err}
}

// smiError is nvidia-smi's refusal, in its own words.
type smiError struct {
	said string
	err  error
}

func (e *smiError) Error() string {
	return fmt.Sprintf("nvidia-smi failed (%v): %s", e.err, logscan.Clean(strings.TrimSpace(e.said)))
}

func (e *smiError) Unwrap() error { return e.err }

var unknownField = regexp.MustCompile(`Field "([^"]+)" is not a valid field`)

// List queries all GPUs. Without a GPU the list is empty and the error nil; List queries
// the driver each time, so momentary values are current.
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

// query queries fields of GPUs, the first needed ones of which are required, and returns
// which it got. args name the GPUs, none means all.
//
// One field unknown to the driver makes nvidia-smi reject the whole query. Then it is
// repeated with the field's older name, and finally without it.
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

// question is the argument that queries fields.
func question(ask []field) string {
	words := make([]string, len(ask))
	for i, f := range ask {
		words[i] = f.words[0]
	}
	return "--query-gpu=" + strings.Join(words, ",")
}

// without drops the name that nvidia-smi rejected. If it names none, only the needed
// fields, which every driver knows, are left; nil if there is nothing to drop.
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

// maxOutput limits what is kept of one answer: a GPU has some hundred bytes, so even a
// large machine stays far below it.
const maxOutput = 16 << 20

// errTooMuch means that a program printed more than nvidia-smi ever does.
var errTooMuch = fmt.Errorf("more than %d MiB of output", maxOutput>>20)

// output runs a command and returns its two outputs. The error wraps errTooMuch if that
// is more than maxOutput; the command then ends because its pipe is no longer read.
func output(cmd *exec.Cmd) (stdout, stderr string, err error) {
	var out, complaint atMost
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	if out.over || complaint.over {
		err = errors.Join(errTooMuch, err)
	}
	return out.buf.String(), complaint.buf.String(), err
}

// atMost keeps what is written up to a limit. It embeds no buffer, whose ReadFrom would
// be used instead of Write.
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
