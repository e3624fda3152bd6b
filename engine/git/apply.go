package git

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Applied reports whether a patch is in the working tree already.
func (r *Repo) Applied(ctx context.Context, patch string) bool {
	_, err := r.run(ctx, "apply", "--reverse", "--check", patch)
	return err == nil
}

// Apply applies a patch file to the working tree, whole or not at all. threeWay
// falls back to a merge where lines have moved; that needs the blobs that the
// patch was made from, and leaves the result in the index too.
func (r *Repo) Apply(ctx context.Context, patch string, threeWay bool) error {
	if !threeWay {
		_, err := r.run(ctx, "apply", "--verbose", patch)
		return rejected(err, r.Top)
	}
	// First in an index of our own, where a conflict does no harm.
	aside, err := r.aside(ctx)
	if err != nil {
		return err
	}
	defer aside.remove()
	if _, err := aside.run(ctx, "apply", "--3way", "--cached", patch); err != nil {
		files, _ := zlist(aside.run(ctx, "diff", "--cached", "--name-only", "--diff-filter=U", "-z"))
		if len(files) > 0 {
			return &Error{Kind: Conflict, Files: files, Reason: "the patch conflicts, and " + r.Top + " is as it was before; in conflict"}
		}
		return rejected(err, r.Top)
	}
	_, err = r.run(ctx, "apply", "--3way", patch)
	return rejected(err, r.Top)
}

// refused are git apply's lines about files that a patch does not fit.
var refused = regexp.MustCompile(`(?m)^error: (?:patch failed: (.+):[0-9]+|(.+): (?:patch does not apply|does not exist in index|No such file or directory|already exists in (?:index|working directory)|does not match index|cannot read the current contents.*))$`)

// rejected turns git apply's complaint into a conflict with its files.
func rejected(err error, top string) error {
	e, ok := err.(*Error)
	if !ok || e.message == "" {
		return err
	}
	var files []string
	for _, m := range refused.FindAllStringSubmatch(e.message, -1) {
		if file := m[1] + m[2]; !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	switch {
	case len(files) > 0:
		return &Error{Kind: Conflict, Args: e.Args, Exit: e.Exit, Files: files, Reason: "the patch does not fit, and " + top + " is as it was before; where it does not"}
	case strings.Contains(e.message, "No valid patches in input") || strings.Contains(e.message, "unrecognized input"):
		return &Error{Kind: Conflict, Args: e.Args, Exit: e.Exit, Reason: "the file holds no patch that git can read: it is made with git diff or git format-patch"}
	}
	return err
}

// PatchFile says what is wrong with a patch file; nil when it can be read.
func PatchFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return &Error{Kind: Other, Reason: "the patch cannot be read: " + err.Error()}
	}
	return f.Close()
}
