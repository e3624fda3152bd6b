// Package git runs the real git command, carefully: no shell, no prompt, no
// pager, messages in English whatever the locale, bounded output, and
// uncommitted work is never thrown away. It knows nothing about plans, engines
// or verdicts.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	// maxOutput limits git output that is read as a whole.
	maxOutput = 64 << 20
	// maxMessage limits what is kept of its error output.
	maxMessage = 64 << 10
)

// Repo is a working tree of a repository, or a bare repository.
type Repo struct {
	// Top is the root of the working tree; for a bare repository, the repository.
	Top string
	// GitDir belongs to this working tree, CommonDir to all working trees of the
	// repository.
	GitDir, CommonDir string
	Bare              bool
	// env is set for git in addition to the usual environment.
	env []string
}

// Open finds the repository that dir is in. The error is an *Error.
func Open(ctx context.Context, dir string) (*Repo, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, &Error{Kind: NotRepository, Reason: fmt.Sprintf("the folder %s does not exist: correct the path, or clone the repository there", dir)}
	case err != nil:
		return nil, &Error{Kind: NotRepository, Reason: fmt.Sprintf("cannot use the folder %s: %v", dir, err)}
	case !info.IsDir():
		return nil, &Error{Kind: NotRepository, Reason: fmt.Sprintf("%s is a file: use the folder of a repository", dir)}
	}
	r := &Repo{Top: dir}
	out, err := r.run(ctx, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-dir", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 3 {
		return nil, &Error{Kind: Other, Reason: fmt.Sprintf("git rev-parse answered %q for %s: git 2.31 or newer is required", out, dir)}
	}
	r.Bare, r.GitDir, r.CommonDir = lines[0] == "true", lines[1], lines[2]
	if r.Bare {
		r.Top = r.GitDir
		return r, nil
	}
	if r.Top, err = r.run(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return nil, err
	}
	return r, nil
}

// call is one run of git, with where its output goes.
type call struct {
	stdin  io.Reader
	stdout io.Writer
	args   []string
}

// run runs git in the working tree and returns its output, without the last newline.
func (r *Repo) run(ctx context.Context, args ...string) (string, error) {
	return r.runWith(ctx, call{args: args})
}

func (r *Repo) runWith(ctx context.Context, c call) (string, error) {
	out := &boundedBuffer{limit: maxOutput}
	c.stdout = out
	err := r.start(ctx, c)
	if err == nil && out.cut {
		return "", &Error{Kind: TooMuch, Reason: fmt.Sprintf("git %s printed more than %d MiB", c.args[0], maxOutput>>20)}
	}
	return out.text(), err
}

// list runs git and splits its output at NUL.
func (r *Repo) list(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.run(ctx, args...)
	return parts(out, "\x00"), err
}

// lines runs git and splits its output into lines.
func (r *Repo) lines(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.run(ctx, args...)
	return parts(out, "\n"), err
}

func parts(out, separator string) []string {
	return slices.DeleteFunc(strings.Split(out, separator), func(part string) bool { return part == "" })
}

func (r *Repo) start(ctx context.Context, c call) error {
	message := &boundedBuffer{limit: maxMessage}
	said := &boundedBuffer{limit: maxMessage}
	cmd := exec.CommandContext(ctx, "git", append(fixed(r.Top), c.args...)...)
	cmd.Env = append(environment(), r.env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, io.MultiWriter(c.stdout, said), message
	// git's children (ssh, hooks, filters) end with it, and none of them can use the
	// terminal to ask for a password.
	ownSession(cmd)
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("git %s was stopped: %w", c.args[0], ctx.Err())
	}
	return explain(r.Top, c.args, said.text(), message.text(), err)
}

// fixed are the options of every run: they override personal settings that would change
// answers, block on input, or write where not requested.
func fixed(dir string) []string {
	return []string{
		"-C", dir, "--no-pager",
		"-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false",
		"-c", "color.ui=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "advice.detachedHead=false",
	}
}

var notPassedOn = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS",
	"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
	"LC_ALL", "LANG", "LANGUAGE", "LC_MESSAGES",
}

// environment is mxflow's without variables that point git at another repository (as in a
// hook), and with no prompt, no editor and English messages.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(notPassedOn, name)
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat",
		"GIT_EDITOR=true", "GIT_LITERAL_PATHSPECS=1")
}

// boundedBuffer keeps the first limit bytes and records whether there were more.
type boundedBuffer struct {
	bytes.Buffer
	limit int
	cut   bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	n := len(p)
	if room := b.limit - b.Len(); len(p) > room {
		p, b.cut = p[:room], true
	}
	_, err := b.Buffer.Write(p)
	return n, err
}

func (b *boundedBuffer) text() string { return strings.TrimSuffix(b.String(), "\n") }
