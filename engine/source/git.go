package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Repo is a working tree of a repository, or a bare repository, as the git command sees
// it: no shell, no prompt, no pager, messages in English whatever the locale, and
// uncommitted work is never thrown away.
type Repo struct {
	// Top is the root of the working tree; for a bare repository, the repository.
	Top    string
	gitDir string
	bare   bool
	// env is set for git in addition to the usual environment.
	env []string
}

// Error is git's refusal, with what to do about it.
type Error struct {
	// Reason is the problem and its remedy, in a sentence or two.
	Reason string
	// Around is set if git's environment is broken, rather than the request.
	Around bool
	// Exit is git's exit status, 0 when it did not run.
	Exit int
}

func (e *Error) Error() string { return e.Reason }

// broken is the Error for what git needs and is not as it must be.
func broken(format string, args ...any) *Error {
	return &Error{Around: true, Reason: fmt.Sprintf(format, args...)}
}

// refusals are what people meet, by git's messages: the first group of each is $1, git's own
// line $LINE, the folder $DIR.
var refusals = []struct {
	text   *regexp.Regexp
	around bool
	reason string
}{
	{
		regexp.MustCompile(`detected dubious ownership in repository at '?([^'\n]*)`), true,
		"the repository $1 belongs to another user, so git does not trust it: run mxflow as its owner, or allow it " +
			"with: " +
			"git config --global --add safe.directory $1",
	},
	{
		regexp.MustCompile(`not a git repository|this operation must be run in a work tree`), true,
		"$DIR is not in a git repository, or that has no files: correct the path, or clone the repository there",
	},
	{
		regexp.MustCompile(`Unable to create '([^']*\.lock)': File exists`), true,
		"another git is running in $DIR, or was killed there: if none is running, remove $1",
	},
	{
		regexp.MustCompile(`(?i)tell me who you are|unable to auto-detect email|empty ident name`), true,
		"git does not know the author of the commit: set user.name and user.email with git config",
	},
	{
		regexp.MustCompile(
			`terminal prompts disabled|could not read (?:Username|Password)|Permission denied \(publickey|` +
				`Authentication failed|Host key verification failed`), true,
		"the remote requires credentials, and mxflow cannot ask for them: set up a credential helper or an ssh key " +
			"without a passphrase ($LINE)",
	},
	{
		regexp.MustCompile(`couldn't find remote ref (\S+)`), false,
		"the remote has no $1: correct the name; git ls-remote lists what it has",
	},
	{
		regexp.MustCompile(`Could not resolve host|unable to access|Could not read from remote repository|` +
			`does not appear to be a git repository|Connection (?:refused|timed out)`), true,
		"cannot reach the remote: $LINE; correct its URL (git remote -v), or try again later",
	},
	{
		regexp.MustCompile(`would be (?:overwritten|removed) by `), false,
		"uncommitted work in $DIR is in the way and was left unchanged; commit, stash or move it: $FILES",
	},
}

// OpenRepo finds the repository that dir is in. The error is an *Error.
func OpenRepo(ctx context.Context, dir string) (*Repo, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, broken("the folder %s does not exist: correct the path, or clone the repository there", dir)
	}
	r := &Repo{Top: dir}
	out, err := r.Run(ctx, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-dir")
	if err != nil {
		return nil, err
	}
	bare, gitDir, ok := strings.Cut(out, "\n")
	if !ok {
		return nil, broken("git rev-parse answered %q for %s: git 2.31 or newer is required", out, dir)
	}
	if r.bare, r.gitDir = bare == "true", gitDir; r.bare {
		r.Top = r.gitDir
		return r, nil
	}
	r.Top, err = r.Run(ctx, "rev-parse", "--show-toplevel")
	return r, err
}

// Run runs git in the working tree and returns its output, without the last newline. The
// error is an *Error, or that of ctx.
func (r *Repo) Run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := r.run(ctx, nil, &out, args...)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// List runs git and splits its output at NUL.
func (r *Repo) List(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.Run(ctx, args...)
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(part string) bool { return part == "" }), err
}

func (r *Repo) run(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	// These override personal settings that would change answers, block on input, or write
	// where not requested.
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-C", r.Top, "--no-pager",
		"-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false",
		"-c", "color.ui=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "advice.detachedHead=false",
	}, args...)...)
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(notPassedOn, name)
	})
	cmd.Env = append(append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat",
		"GIT_EDITOR=true", "GIT_LITERAL_PATHSPECS=1"), r.env...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	// git's children (ssh, hooks, filters) end with it, and none of them can use the
	// terminal to ask for a password.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("git %s was stopped: %w", args[0], ctx.Err())
	case !errors.As(err, &exit):
		return broken("cannot start git (%v): install it, and make sure it is in PATH", err)
	}
	message, line := said.String(), lastWords(said.String())
	for _, known := range refusals {
		if m := known.text.FindStringSubmatch(message); m != nil {
			var files []string // are indented by a tab
			for l := range strings.Lines(message) {
				if file, ok := strings.CutPrefix(l, "\t"); ok {
					files = append(files, strings.TrimSpace(file))
				}
			}
			fill := strings.NewReplacer("$DIR", r.Top, "$LINE", line, "$1", m[len(m)-1], "$FILES", FileList(files))
			return &Error{Reason: fill.Replace(known.reason), Around: known.around, Exit: exit.ExitCode()}
		}
	}
	reason := fmt.Sprintf("git %s in %s: %s", args[0], r.Top, cmp.Or(line, exit.Error()))
	return &Error{Reason: reason, Exit: exit.ExitCode()}
}

// lastWords is the most informative line of a message: the last fatal or error, else the
// last line.
func lastWords(message string) string {
	last, best := "", ""
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "hint:") {
			continue
		}
		last = line
		if kind, text, ok := strings.Cut(line, ": "); ok && (kind == "fatal" || kind == "error") {
			best = text
		}
	}
	return cmp.Or(best, last)
}

// notPassedOn point git at another repository, as in a hook, or change its messages.
var notPassedOn = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS",
	"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
	"LC_ALL", "LANG", "LANGUAGE", "LC_MESSAGES",
}

func FileList(files []string) string {
	const most = 10
	if len(files) <= most {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), len(files)-most)
}

// Short is a shortened SHA, for people.
func Short(sha string) string { return sha[:min(12, len(sha))] }

// Commit resolves a name (branch, tag, SHA, HEAD~2, upstream/main) to the full
// SHA of a commit. A name that git would take for an option is an unknown ref.
func (r *Repo) Commit(ctx context.Context, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \n\x00") {
		return "", &Error{Reason: fmt.Sprintf("%q is not a valid commit name", name)}
	}
	sha, err := r.Run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if refused, ok := errors.AsType[*Error](err); !ok || refused.Around {
		return sha, err
	}
	why := fmt.Sprintf("%[2]s has no commit %[1]q: correct the name, or fetch it first (git fetch)", name, r.Top)
	if shallow, _ := r.Run(ctx, "rev-parse", "--is-shallow-repository"); shallow == "true" {
		why += "; it is a shallow clone, which may lack it (git fetch --unshallow)"
	}
	return "", &Error{Reason: why}
}

// Head is the checked out commit and its branch, empty if HEAD is detached. In a
// repository without commits the commit is empty.
func (r *Repo) Head(ctx context.Context) (commit, branch string, err error) {
	if ref, err := r.Run(ctx, "symbolic-ref", "--quiet", "HEAD"); err == nil {
		branch = strings.TrimPrefix(ref, "refs/heads/")
	}
	commit, err = r.Run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil && branch != "" && ctx.Err() == nil {
		return "", branch, nil
	}
	return commit, branch, err
}

// Changed lists tracked files that differ from HEAD, staged or not; submodules at another
// commit count. Nothing is written, including the index.
func (r *Repo) Changed(ctx context.Context) (files []string, err error) {
	list, err := r.List(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames",
		"--ignore-submodules=none")
	for _, entry := range list { // two letters, a space, the path
		files = append(files, entry[min(3, len(entry)):])
	}
	return files, err
}

// Between lists the files in which two commits differ.
func (r *Repo) Between(ctx context.Context, a, b string) ([]string, error) {
	return r.List(ctx, "diff-tree", "-r", "--name-only", "-z", a, b)
}

// AddWorktree creates a working tree in dir, at a commit with a detached HEAD, with its
// submodules.
func (r *Repo) AddWorktree(ctx context.Context, dir, commit string) error {
	if _, err := r.Run(ctx, "worktree", "add", "--detach", dir, commit); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, ".gitmodules")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := (&Repo{Top: dir}).Run(ctx, "submodule", "update", "--init", "--recursive")
	return err
}

// RemoveWorktree removes a working tree made by AddWorktree, with everything in it, also
// if it was only partly made. Changes in it are lost: the caller checks before.
func (r *Repo) RemoveWorktree(ctx context.Context, dir string) error {
	_, _ = r.Run(ctx, "worktree", "remove", "--force", "--force", dir)
	if err := os.RemoveAll(dir); err != nil {
		return broken("the worktree %s cannot be removed: %v", dir, err)
	}
	_, err := r.Run(ctx, "worktree", "prune") // its entry would be in the way
	return err
}
