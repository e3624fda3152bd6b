package group_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/group"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestTheWholeGroupEnds: what a shell started in the background ends with its time limit,
// and what it leaves after a normal end runs on.
func TestTheWholeGroupEnds(t *testing.T) {
	for script, ended := range map[string]bool{
		"sleep 1000 & echo $!; wait":          true,
		"sleep 1000 >/dev/null & echo $!":     false,
		"(sleep 1000 & echo $!; wait); true":  true,
		"sleep 1000 & echo $!; exec sleep 99": true,
	} {
		t.Run(script, func(t *testing.T) {
			r, w, err := os.Pipe()
			must.Do(t, err)
			defer r.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := group.Command(ctx, "sh", "-c", script)
			cmd.Stdout = w
			must.Do(t, cmd.Start())
			w.Close()
			out := bufio.NewReader(r)
			pid, err := out.ReadString('\n')
			must.Do(t, err)
			pid = strings.TrimSpace(pid)
			if !ended {
				if err := cmd.Wait(); err != nil {
					t.Errorf("it ended with %v", err)
				}
				cancel()
				if err := exec.Command("kill", pid).Run(); err != nil {
					t.Errorf("what it left running is gone: %v", err)
				}
				return
			}
			cancel()
			if err := cmd.Wait(); !errors.Is(err, context.Canceled) && err == nil {
				t.Error("it ended well")
			}
			// The pipe ends with the last of its writers, of which the child was one.
			if _, err := out.ReadString('\n'); err == nil {
				t.Error("it said more")
			}
		})
	}
}
