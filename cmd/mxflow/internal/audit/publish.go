package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/runtime/store"
)

func newPublishCommand(h Host) *cobra.Command {
	var notes, tag bool
	c := &cobra.Command{
		Use:   "publish [PLAN]",
		Short: "Publish the signed checkpoint where others keep it",
		Long: `Writes the signed checkpoint into the git repository of the plan: as a note of the
checked-out commit (--git-notes, refs/notes/mxflow/PLAN), or as a tag
(--git-tag, mxflow/PLAN/RECORDS). Push it: a checkpoint is a witness only if somebody
else keeps it. audit verify --git checks the ledger against all of them.

Without a flag it runs the command mxflow/publish in the folder of your configuration,
as every apply does if it exists, with the checkpoint on standard input and the
plan's name in MXFLOW_PLAN. A plan cannot set it: those who can change the plan must
not choose the witness.`,
		Example: "  mxflow audit publish --git-notes plan.hcl && git push origin refs/notes/mxflow/*\n  mxflow audit verify --git plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.whole(h.Reader, args, "", func(st *store.Store, checked ledger.Report, _ string) error {
				plan := newestPlan(st)
				if !notes && !tag {
					hook, err := publisher()
					if err == nil && hook == "" {
						err = errors.New("say where: --git-notes, --git-tag, or a command mxflow/publish in your configuration folder")
					}
					if err != nil {
						return err
					}
					return published(cmd.Context(), hook, plan, checked.Note)
				}
				repo, err := git.Open(cmd.Context(), h.Folder(args))
				if err != nil {
					return err
				}
				head, err := repo.Commit(cmd.Context(), "HEAD")
				if err != nil {
					return err
				}
				if notes {
					if err := repo.AddNote(cmd.Context(), notesRef(plan), head, string(checked.Note)); err != nil {
						return err
					}
					fmt.Fprintf(h.Stdout, "%s is a note of %s in %s. Push it: git push REMOTE %[3]s\n", tell.Count(checked.Records, "record"), git.Short(head), notesRef(plan))
				}
				if tag {
					name := fmt.Sprintf("%s%d", tagPrefix(plan), checked.Records)
					if err := repo.CreateTag(cmd.Context(), name, head, string(checked.Note), false); err != nil {
						return err
					}
					fmt.Fprintf(h.Stdout, "%s is the tag %s. Push it: git push REMOTE %[2]s\n", tell.Count(checked.Records, "record"), name)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&notes, "git-notes", false, "as a note of the checked-out commit")
	c.Flags().BoolVar(&tag, "git-tag", false, "as a tag of that commit")
	return c
}

func notesRef(plan string) string  { return "refs/notes/mxflow/" + plan }
func tagPrefix(plan string) string { return "mxflow/" + plan + "/" }

func newestPlan(st *store.Store) string {
	if run, err := st.Run("latest"); err == nil {
		return run.Plan
	}
	return ""
}

// heldAgainstGit counts the checkpoints in the repository of a plan, each of which the
// ledger must have had; none is an error.
func (h Host) heldAgainstGit(ctx context.Context, st *store.Store, args []string) (int, error) {
	repo, err := git.Open(ctx, h.Folder(args))
	if err != nil {
		return 0, err
	}
	plan := newestPlan(st)
	texts, err := repo.Notes(ctx, notesRef(plan))
	if err != nil {
		return 0, err
	}
	tags, err := repo.TagTexts(ctx, tagPrefix(plan))
	if err != nil {
		return 0, err
	}
	texts = append(texts, tags...)
	if len(texts) == 0 {
		return 0, fmt.Errorf("--git: the repository has no checkpoint of plan %s: fetch refs/notes/mxflow/* and tags, or create one: mxflow audit publish", plan)
	}
	for _, text := range texts {
		at, err := ledger.ParseState(text)
		if err == nil {
			_, err = ledger.Consistent(st.LedgerPath(), at, nil)
		}
		if err != nil {
			return 0, fmt.Errorf("--git: a checkpoint in notes or tags: %w", err)
		}
	}
	return len(texts), nil
}

// publisher is this user's command that receives checkpoints; empty if there is none.
func publisher() (string, error) {
	file, err := signing.Path()
	if err != nil {
		return "", nil // without a folder there is no such command
	}
	hook := filepath.Join(filepath.Dir(file), "publish")
	info, err := os.Stat(hook)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return "", fmt.Errorf("%s is not executable: chmod +x, or remove it", hook)
	case info.Mode().Perm()&0o022 != 0:
		return "", fmt.Errorf("%s: mode %04o lets others write to it: chmod go-w", hook, info.Mode().Perm())
	}
	return hook, nil
}

// publishLimit is how long an apply waits for a witness at its end.
const publishLimit = 30 * time.Second

// published passes a checkpoint to the user's command.
func published(ctx context.Context, hook, plan string, checkpoint []byte) error {
	ctx, cancel := context.WithTimeout(ctx, publishLimit)
	defer cancel()
	var said bytes.Buffer
	c := exec.CommandContext(ctx, hook)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(checkpoint), &said, &said
	c.Env = append(os.Environ(), "MXFLOW_PLAN="+plan)
	c.WaitDelay = time.Second
	if err := c.Run(); err != nil {
		text := said.String()
		return fmt.Errorf("the checkpoint was not published: %s: %w: %s", hook, err, strings.TrimSpace(text[max(0, len(text)-500):]))
	}
	return nil
}

// Publish passes the checkpoint of a state directory to this user's command, if there is
// one and the checkpoint is signed. A failure is reported; what was recorded stands.
func Publish(dir string, stderr io.Writer) {
	hook, err := publisher()
	if err == nil && hook != "" {
		err = publishFrom(dir, hook)
	}
	if err != nil {
		fmt.Fprintln(stderr, "note:", err)
	}
}

func publishFrom(dir, hook string) error {
	st, err := store.OpenReadOnly(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was started
	}
	if err != nil {
		return err
	}
	defer st.Close()
	checked, _, err := verified(st, "")
	if err != nil {
		return fmt.Errorf("the checkpoint was not published: %w", err)
	}
	return published(context.Background(), hook, newestPlan(st), checked.Note)
}
