package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
)

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
