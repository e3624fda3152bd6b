package metadata

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Run runs a command and returns its standard output.
type Run func(ctx context.Context, argv ...string) ([]byte, error)

// Host runs commands on this machine, in mxflow's own environment.
func Host(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

// maxOutput is how much of a command's output is kept in a document.
const maxOutput = 64 << 10

// text runs a command for at most limit and returns what it printed.
func (run Run) text(ctx context.Context, limit time.Duration, argv ...string) (string, error) {
	if run == nil {
		return "", errors.New("no command can be run where the engine lives")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := run(ctx, argv...)
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s did not end within %s", argv[0], limit)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return "", fmt.Errorf("%w: %s", err, last(string(exit.Stderr)))
	}
	return string(out), err
}

// last is the last line that says something: where programs put the reason.
func last(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// brief makes a reason fit for one line.
func brief(why string) string {
	why = strings.Join(strings.Fields(strings.ToValidUTF8(why, "?")), " ")
	if len(why) > 300 {
		why = strings.ToValidUTF8(why[:300], "") + "…"
	}
	return why
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
