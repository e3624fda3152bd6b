package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/standing"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

// runDetached starts this command again in its own session, and returns once that has
// started its run or has ended without one. Until then it prints here.
func runDetached(a *app, q applying) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	begun, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer begun.Close()
	args := slices.Clone(os.Args[1:])
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	c := exec.Command(program, slices.Insert(args, end, "--child")...)
	c.Stdout, c.Stderr, c.ExtraFiles = os.Stdout, os.Stderr, []*os.File{tell}
	if columns, _, _ := a.size(); columns > 0 {
		c.Env = append(os.Environ(), fmt.Sprintf("COLUMNS=%d", columns))
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = c.Start()
	_ = tell.Close()
	if err != nil {
		return fmt.Errorf("cannot start %s in the background: %w", program, err)
	}
	go func() {
		for s := range ending.Interrupts() {
			_ = c.Process.Signal(s) // in its session it has no Ctrl-C
		}
	}()
	run, err := io.ReadAll(begun)
	if err != nil {
		return err
	}
	if len(run) == 0 {
		_ = c.Wait()
		if a.exit = c.ProcessState.ExitCode(); a.exit < 0 {
			return a.fail(verdict.ExitBroken, fmt.Errorf("the background process ended before its run started: %s", c.ProcessState))
		}
		if a.exit != 0 {
			return errShown
		}
		return nil
	}
	if a.json {
		a.printLine(map[string]any{"type": "detached", "run": string(run), "pid": c.Process.Pid})
		return nil
	}
	fmt.Fprintf(a.stdout, "Run %s continues in the background (process %d).\n  %s  follow it; exits with the run's status\n  kill %d  stop it gracefully\n", run, c.Process.Pid, attachTo(q), c.Process.Pid)
	return nil
}

// attachTo is the command that attaches to the run.
func attachTo(q applying) string {
	command := "mxflow attach "
	if q.state != filepath.Join(lang.FolderOf(q.path), store.DirName) {
		command += "--state " + shell.Quote(q.state) + " "
	}
	return command + shell.Quote(q.path)
}

// detached is the output of a run that continues in the background: once started it
// prints to a file, and its parent process may exit.
type detached struct {
	apply.Observer
	dir string
	// begun tells the parent process that the run has started; it is closed if it never
	// does.
	begun *os.File
	// print starts the output, stop ends a run that nobody could follow.
	print, stop func()
	stderr      io.Writer
}

// begunAt is the file descriptor that the parent process listens on.
const begunAt = 3

func newDetached(a *app, dir string, watch apply.Observer, stop func()) *detached {
	unix.CloseOnExec(begunAt)
	return &detached{Observer: watch, dir: dir, begun: os.NewFile(begunAt, "begun"), print: func() { beginStream(a) }, stop: stop, stderr: a.stderr}
}

func (d *detached) Begin(s apply.Start) {
	f, err := store.NewOutput(d.dir, s.Run)
	if err == nil {
		err = errors.Join(unix.Dup2(int(f.Fd()), 1), unix.Dup2(int(f.Fd()), 2))
	}
	if err == nil {
		d.print()
		d.Observer.Begin(s)
		_, err = d.begun.WriteString(s.Run)
	}
	_ = d.begun.Close()
	if err != nil {
		fmt.Fprintf(d.stderr, "mxflow: the run cannot continue in the background: %v\n", err)
		d.stop()
	}
}

func newAttachCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "attach [PLAN]",
		Short: "Follow an apply that runs in the background",
		Long: `Shows the output of apply --detach from the start, and exits with its status. Ctrl-C
leaves it running, with exit status 130; several can follow one run. For a run that has
ended, it shows what was printed. It reads the state directory beside PLAN, or in the
current folder.`,
		Example: "  mxflow apply --detach plan.hcl\n  mxflow attach plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			st, work, err := openStanding(a, args)
			if err != nil {
				return err
			}
			dir := st.Dir()
			st.Close()
			if work.State == report.None {
				return errors.New("nothing was applied here: start with mxflow apply --detach")
			}
			f, err := store.Output(dir, work.Run)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("run %s was not started with --detach: see mxflow status or mxflow serve", work.Run)
			}
			if err != nil {
				return err
			}
			defer f.Close()
			if attached, err := follow(c.Context(), f, bare(a.stdout)); err != nil {
				return err
			} else if !attached {
				said := fmt.Sprintf("\nRun %s continues.\n", work.Run)
				if work.Holder != nil {
					said += fmt.Sprintf("  kill %d  stop it gracefully, on %s\n", work.Holder.PID, work.Holder.Host)
				}
				fmt.Fprint(a.stderr, said)
				a.exit = verdict.ExitInterrupted
				return nil
			}
			return exitOf(a, args, work.Run)
		},
	}
}

// followEvery is how often new output is polled.
const followEvery = 100 * time.Millisecond

// follow copies an Output until the process that prints to it has ended; false if Ctrl-C
// came first.
func follow(ctx context.Context, f *os.File, to io.Writer) (ended bool, err error) {
	interrupts := ending.Interrupts()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		printing, err := store.Printing(f)
		if err != nil {
			return false, err
		}
		if _, err := io.Copy(to, f); err != nil || !printing {
			return true, err
		}
		select {
		case <-tick.C:
		case <-interrupts:
			return false, nil
		case <-ctx.Done():
			return false, nil
		}
	}
}

// exitOf sets the exit status of a run whose process has ended.
func exitOf(a *app, args []string, run string) error {
	st, work, err := openStanding(a, args)
	if err != nil {
		return err
	}
	defer st.Close()
	v, err := st.Run(run)
	if err != nil {
		return err
	}
	if a.exit = v.Exit; v.Done {
		return nil
	}
	why := fmt.Errorf("run %s did not finish: its process was killed, or the machine restarted. mxflow apply resumes it", run)
	if runs := st.Runs(); work.Run == run {
		why = errors.New(standing.Work(work, runs[len(runs)-1]))
	}
	return a.fail(verdict.ExitBroken, why)
}
