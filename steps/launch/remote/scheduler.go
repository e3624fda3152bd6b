package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/group"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans"
)

// scheduler is how workers are started on other machines, watched and ended.
type scheduler interface {
	// command is what starts the worker of a slot, counted from 0, once that may run. It
	// completes the worker's Hello.
	command(ctx context.Context, slot int, hello *Hello, note func(verdict.Reason)) ([]string, error)
	// ended is what the scheduler did to a worker's job, in its words; empty if nothing.
	ended(ctx context.Context, job string) string
	// drop gives up a job, if nothing else does.
	drop(ctx context.Context, job string) error
	// sweep gives up the jobs that a killed apply left, and returns their names.
	sweep(ctx context.Context) ([]string, error)
}

func (p *Pool) scheduler() scheduler {
	switch p.Plan.Executor.Kind {
	case plans.SlurmExecutor:
		return slurm{p}
	case plans.KubernetesExecutor:
		return &cluster{p, p.Plan.Executor, p.Jobs}
	}
	return ssh{p}
}

// ssh starts workers by a command on each host, which nobody schedules.
type ssh struct{ *Pool }

func (s ssh) command(ctx context.Context, slot int, hello *Hello, _ func(verdict.Reason)) ([]string, error) {
	x := s.Plan.Executor
	places := max(1, len(x.Devices)/x.PerLaunch)
	hello.Host = x.Hosts[slot/places]
	if len(x.Devices) > 0 {
		at := slot % places * x.PerLaunch
		hello.Devices = x.Devices[at : at+x.PerLaunch]
	}
	argv := make([]string, len(x.Command))
	for i, arg := range x.Command {
		argv[i] = strings.ReplaceAll(arg, "{host}", hello.Host)
	}
	program, err := s.program(ctx, argv, hello.Host, `"$HOME"/.cache/mxflow`)
	return append(argv, "exec "+program+" worker"), err
}

func (ssh) ended(context.Context, string) string             { return "" }
func (ssh) drop(context.Context, string) error               { return nil }
func (ssh) sweep(context.Context) (jobs []string, err error) { return nil, nil }

// program is mxflow for the shell of a host: as the executor names it, or a copy in a folder
// there, made once. to runs a script on the host.
func (p *Pool) program(ctx context.Context, to []string, host, folder string) (string, error) {
	if path := p.Plan.Executor.Program; path != "" {
		if under, is := strings.CutPrefix(path, "~/"); is {
			return `"$HOME"/` + shell.Quote(under), nil // the home there
		}
		return shell.Quote(path), nil
	}
	program := folder + "/mxflow-" + p.Hello.Program[:16]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err, known := p.copied[host]; known {
		return program, err
	}
	if p.copied == nil {
		p.copied = map[string]error{}
	}
	said := &foreign.Tail{Limit: mostSaid}
	run := func(script string, in io.Reader) error {
		cmd := group.Command(ctx, to[0], append(slices.Clone(to[1:]), script)...)
		cmd.Stdin, cmd.Stderr = in, said
		return held(cmd.Run())
	}
	err := run("test -x "+program, nil)
	if err != nil {
		var file *os.File
		if file, err = os.Open(p.Program); err == nil {
			// Earlier copies that may still run are not removed. Small images have no find.
			err = run(
				fmt.Sprintf("mkdir -p %[1]s && cat > %[2]s.$$ && chmod 755 %[2]s.$$ && mv %[2]s.$$ %[2]s && { find "+
					"%[1]s -name 'mxflow-*' -mtime +30 -exec rm -f {} + || :; }", folder, program), file)
			_ = file.Close()
		}
	}
	if err != nil {
		err = &verdict.Fault{Reason: verdict.Say("worker.uncopied",
			"mxflow could not be copied to {subject} by {command}: {error}{says?; output: {says}}. Check that "+
				"this command logs in without a prompt, or name mxflow there in the executor block",
			verdict.Text("command", strings.Join(to, " ")), verdict.Text("says", said.String()),
			verdict.Err(err)).On(host)}
	}
	if ctx.Err() == nil {
		p.copied[host] = err
	}
	return program, err
}

// held is the error of a command that has ended. That another process still holds its
// output, as the master of ssh's shared connections does, is none.
func held(err error) error {
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

const (
	// patience is how long a scheduler may take to answer, and to know how a job ended.
	patience = 20 * time.Second
	// stateEvery is how often it is polled for that.
	stateEvery = 250 * time.Millisecond
)

// ask runs a scheduler's command and returns what it prints.
func ask(ctx context.Context, in io.Reader, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said := &foreign.Tail{Limit: mostSaid}
	cmd := group.Command(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stderr = in, said
	out, err := cmd.Output()
	if err = held(err); err != nil {
		err = fmt.Errorf("%s: %w %s", strings.Join(argv, " "), err, lastLine(said))
	}
	return string(out), err
}

// until polls a scheduler for how a job ended, for as long as it may take to know.
func until(ctx context.Context, state func(context.Context) (says string, known bool)) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if says, known := state(ctx); known {
			return says
		}
		select {
		case <-time.After(stateEvery):
		case <-ctx.Done():
			return ""
		}
	}
}

// mostSaid is how many bytes of a command's complaints are kept.
const mostSaid = 4 << 10

// lastLine is the last line that a command wrote.
func lastLine(said *foreign.Tail) string {
	text := said.String()
	return text[strings.LastIndexByte(text, '\n')+1:]
}
