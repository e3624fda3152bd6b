package ending

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// howEnv makes this binary end in some way.
const howEnv = "MXFLOW_TEST_ENDS"

func TestMain(m *testing.M) {
	raise := func(s syscall.Signal) {
		_ = syscall.Kill(os.Getpid(), s)
		select {}
	}
	switch os.Getenv(howEnv) {
	case "quit":
		raise(syscall.SIGQUIT)
	case "abort":
		raise(syscall.SIGABRT)
	case "interrupt":
		raise(syscall.SIGINT)
	case "terminate":
		raise(syscall.SIGTERM)
	case "claimed":
		c := Interrupts()
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-c
		os.Exit(7)
	}
	os.Exit(m.Run())
}

// TestNoEndLooksLikeAVerdict ends in the ways in which Go's runtime has 2; where the
// runtime itself breaks is in a scenario, since the program sees to that.
func TestNoEndLooksLikeAVerdict(t *testing.T) {
	for how, want := range map[string]string{
		"quit": "exit status 131", "abort": "exit status 134",
		"interrupt": "exit status 130", "terminate": "exit status 130", "claimed": "exit status 7",
	} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), howEnv+"="+how)
			var said strings.Builder
			cmd.Stderr = &said
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.HasPrefix(exit.String(), want) {
				t.Errorf("it ended with %v, want %s: %.300s", err, want, said.String())
			}
			if how != "claimed" && said.String() == "" {
				t.Error("it ended without a word")
			}
		})
	}
}

func TestInterruptedIsTheExitStatus(t *testing.T) {
	must.Equal(t, "interrupted", interrupted, verdict.ExitInterrupted)
}

func TestOutputRemembersWhatWentWrong(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	o := &Output{To: full}
	_, _ = o.Write([]byte("x"))
	if !errors.Is(o.Err(), syscall.ENOSPC) {
		t.Errorf("Err is %v", o.Err())
	}
}
