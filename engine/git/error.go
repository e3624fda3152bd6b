package git

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// Kind is the kind of failure, for callers that decide by it.
type Kind string

const (
	NoGit         Kind = "git cannot be started"
	NotRepository Kind = "not a repository"
	Dubious       Kind = "dubious ownership"
	UnknownRef    Kind = "unknown ref"
	Locked        Kind = "locked index"
	Shallow       Kind = "shallow clone"
	Remote        Kind = "remote cannot be reached"
	NoIdentity    Kind = "no author"
	InTheWay      Kind = "uncommitted work in the way"
	InUse         Kind = "branch in use"
	Busy          Kind = "operation in progress"
	TooMuch       Kind = "too much"
	Other         Kind = "git failed"
)

// Error is git's refusal, with what to do about it.
type Error struct {
	Kind Kind
	// Reason is what was wrong and what to do, in a sentence or two.
	Reason string
	// Files are the files in the way.
	Files []string
	// Exit is git's exit status, 0 when it did not run.
	Exit int
	// message is its error output.
	message string
}

func (e *Error) Error() string {
	if len(e.Files) == 0 {
		return e.Reason
	}
	return e.Reason + ": " + FileList(e.Files)
}

// Is reports whether err is an Error of that kind.
func Is(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

// FileList names up to ten files.
func FileList(files []string) string {
	const most = 10
	if len(files) <= most {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), len(files)-most)
}

// sign is text in git's messages that identifies what happened.
type sign struct {
	kind   Kind
	text   *regexp.Regexp
	reason string // with $DIR, $1 and git's own line filled in
}

var signs = []sign{
	{
		Dubious, regexp.MustCompile(`detected dubious ownership in repository at '?([^'\n]*)`),
		"the repository $1 belongs to another user, so git does not trust it: run mxflow as its owner, or allow it with: git config --global --add safe.directory $1",
	},
	{
		NotRepository, regexp.MustCompile(`not a git repository`),
		"$DIR is not in a git repository: correct the path, or clone the repository there",
	},
	{
		NotRepository, regexp.MustCompile(`this operation must be run in a work tree`),
		"$DIR is a bare repository, without files: use a working tree of it",
	},
	{
		Locked, regexp.MustCompile(`Unable to create '([^']*\.lock)': File exists`),
		"another git is running in $DIR, or was killed there: if none is running, remove $1",
	},
	{
		NoIdentity, regexp.MustCompile(`(?i)tell me who you are|unable to auto-detect email|empty ident name`),
		"git does not know the author of the commit: set user.name and user.email with git config, or GIT_COMMITTER_NAME, GIT_COMMITTER_EMAIL, GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL",
	},
	{
		Remote, regexp.MustCompile(`terminal prompts disabled|could not read (?:Username|Password)|Permission denied \(publickey|Authentication failed|Host key verification failed`),
		"the remote requires credentials, and mxflow cannot ask for them: set up a credential helper or an ssh key without a passphrase ($LINE)",
	},
	{
		UnknownRef, regexp.MustCompile(`couldn't find remote ref (\S+)`),
		"the remote has no $1: correct the name; git ls-remote lists what it has",
	},
	{
		Remote, regexp.MustCompile(`Could not resolve host|unable to access|Could not read from remote repository|does not appear to be a git repository|Connection (?:refused|timed out)`),
		"cannot reach the remote: $LINE; correct its URL (git remote -v), or try again later",
	},
	{
		InUse, regexp.MustCompile(`'([^'\n]*)' is already (?:checked out|used by worktree) at '([^'\n]*)'`),
		"the branch $1 is already checked out in $2, and git allows that in only one working tree: use that folder, or another branch",
	},
	{
		Shallow, regexp.MustCompile(`shallow (?:update|file|clone)|(?:from|to|is) a? ?shallow`),
		"$DIR is a shallow clone and lacks the history needed ($LINE): run git fetch --unshallow",
	},
	{
		UnknownRef, regexp.MustCompile(`(?:unknown revision|bad revision|ambiguous argument|not a valid object name|Needed a single revision|invalid reference)`),
		"$DIR has no such commit ($LINE): correct the name, or fetch it first",
	},
}

var inTheWay = regexp.MustCompile(`(?m)^error: (?:Your local changes to the following files|The following untracked working tree files) would be (?:overwritten|removed) by [^\n]*\n((?:\t[^\n]*\n?)+)`)

// explain turns git's messages into an Error.
func explain(dir string, args []string, said, message string, err error) error {
	e := &Error{Kind: Other}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		e.Kind = NoGit
		e.Reason = fmt.Sprintf("cannot start git (%v): install it, and make sure it is in PATH", err)
		return e
	}
	e.Exit, e.message = exit.ExitCode(), message
	if m := inTheWay.FindAllStringSubmatch(message, -1); m != nil {
		e.Kind, e.Reason = InTheWay, "uncommitted work in "+dir+" is in the way and was left unchanged; commit, stash or move it"
		for _, block := range m {
			for _, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
				e.Files = append(e.Files, strings.TrimSpace(line))
			}
		}
		return e
	}
	for _, s := range signs {
		m := s.text.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		e.Kind = s.kind
		replace := []string{"$DIR", dir, "$LINE", lastWords(message)}
		for i, group := range m[1:] {
			replace = append(replace, fmt.Sprintf("$%d", i+1), group)
		}
		e.Reason = strings.NewReplacer(replace...).Replace(s.reason)
		return e
	}
	words := cmp.Or(lastWords(message), lastWords(said), exit.Error())
	e.Reason = fmt.Sprintf("git %s in %s: %s", args[0], dir, words)
	return e
}

// lastWords is the most informative line of a message: the last fatal or error, else the
// last line.
func lastWords(message string) string {
	last, best := "", ""
	for _, line := range strings.Split(message, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "hint:") {
			continue
		}
		last = line
		for _, prefix := range []string{"fatal: ", "error: "} {
			if text, ok := strings.CutPrefix(line, prefix); ok {
				best = text
			}
		}
	}
	return cmp.Or(best, last)
}
