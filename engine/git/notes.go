package git

import (
	"context"
	"strings"
)

// AddNote gives a commit a note below a ref ("refs/notes/…"), in the place of the one that
// it has there.
func (r *Repo) AddNote(ctx context.Context, ref, commit, text string) error {
	_, err := r.runWith(ctx, call{stdin: strings.NewReader(text), args: []string{"notes", "--ref", ref, "add", "--force", "--file=-", commit}})
	return err
}

// Notes are the texts of all notes below a ref.
func (r *Repo) Notes(ctx context.Context, ref string) (texts []string, err error) {
	if r.Tip(ctx, ref) == "" {
		return nil, nil
	}
	lines, err := r.lines(ctx, "notes", "--ref", ref, "list")
	for _, line := range lines {
		blob, _, _ := strings.Cut(line, " ")
		text, err := r.run(ctx, "cat-file", "blob", blob)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text+"\n")
	}
	return texts, err
}

// TagTexts are the messages of the tags whose names begin with prefix, which ends with a
// slash.
func (r *Repo) TagTexts(ctx context.Context, prefix string) ([]string, error) {
	texts, err := r.list(ctx, "for-each-ref", "--format=%(contents)%00", "refs/tags/"+prefix)
	for i, text := range texts {
		texts[i] = strings.TrimLeft(text, "\n")
	}
	return texts, err
}
