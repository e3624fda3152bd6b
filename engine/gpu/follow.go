package gpu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// millis is a time as -lms takes it.
func millis(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// follow runs nvidia-smi until ctx ends, and calls each for every line that is
// not empty as it comes, or with an error for one that is too long to be one. It
// returns nil once ctx has ended, else why nvidia-smi did not go on, such as that
// it printed nothing for the time of silence; a silence of 0 may last.
// nvidia-smi ends with this program, however that ends (Linux), and does not
// outlive follow.
func follow(ctx context.Context, silence time.Duration, args []string, each func(line string, now time.Time, err error)) error {
	path, err := findSMI()
	if err != nil {
		return err
	}
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = w, w
	bind(cmd)
	// What binds a child to this program looks at the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("nvidia-smi did not start: %w", err)
	}
	heard := func() {}
	if silence > 0 {
		hung := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nvidia-smi printed nothing for %s", silence)) })
		defer hung.Stop()
		heard = func() { hung.Reset(silence) }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines(r, func(line string, now time.Time, err error) {
			heard()
			each(line, now, err)
		})
	}()
	err = cmd.Wait()
	// What it still printed is in the pipe; another holder of it is not waited for.
	_ = r.SetReadDeadline(time.Now().Add(time.Second))
	<-done
	switch {
	case parent.Err() != nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("nvidia-smi ended: %w", err)
	}
	return errors.New("nvidia-smi ended")
}

// lines takes lines until there are no more. A last line without its end is
// dropped: its last number may lack digits.
func lines(from io.Reader, each func(line string, now time.Time, err error)) {
	in := bufio.NewReaderSize(from, 4096)
	for {
		line, err := in.ReadSlice('\n')
		now := time.Now()
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			each("", now, fmt.Errorf("a line of more than %d bytes: %q", len(line), cut(string(line))))
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
		case err == nil && len(strings.TrimSpace(string(line))) > 0:
			each(string(line), now, nil)
		}
		if err != nil {
			return
		}
	}
}
