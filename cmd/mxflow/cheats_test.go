package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// TestCheats applies a plan whose candidate lies about its work in every way that
// docs/trust.md has a row for, beside an honest parent, and candidates that do not
// lie. The default is a few of them; MXFLOW_TEST_LONG=1 tries all.
func TestCheats(t *testing.T) {
	server := cheatServer(t)
	plan, err := filepath.Abs("testdata/plans/cheat.hcl")
	if err != nil {
		t.Fatal(err)
	}
	all := os.Getenv("MXFLOW_TEST_LONG") != ""
	for _, c := range cheats {
		if !all && !c.quick {
			continue
		}
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			args := []string{"apply", "--state", state, "--var", "server=" + server, "--var", "mode=" + c.mode, "--var", "parent=" + c.parent, "--var", "folder=" + t.TempDir()}
			if c.rule != "" {
				args = append(args, "--var", "rule="+c.rule)
			}
			if c.see != "" {
				args = append(args, "--var", "see="+c.see)
			}
			out, err := exec.Command(program, append(args, plan)...).CombinedOutput()
			var failed *exec.ExitError
			if err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			got := outcomeOf(t, state, "feature.port")
			if got == nil || got.Verdict != c.want {
				t.Errorf("want %s\n%s", c.want, out)
				return
			}
			if c.why != "" && !verdict.Holds(got.Reasons, c.why) && !slices.ContainsFunc(got.Levels, func(l ledger.Level) bool { return verdict.Holds(l.Reasons, c.why) }) {
				t.Errorf("it is not %s\n%s", c.why, out)
			}
		})
	}
}

// cheatServer builds the server of cheats.
func cheatServer(t *testing.T) string {
	t.Helper()
	server := filepath.Join(t.TempDir(), "cheat")
	if out, err := exec.Command("go", "build", "-race=false", "-o", server, "../../engine/enginetest/cheat").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return server
}

// cheat is a mode of the server and what must come of it.
type cheat struct {
	mode, parent, rule, see string
	want                    verdict.Verdict
	why                     code.Code
	quick                   bool
}

var cheats = []cheat{
	{mode: "faster", want: verdict.Pass, quick: true},
	{mode: "slower", want: verdict.Fail, quick: true},
	{mode: "diverges", want: verdict.Pass},
	{mode: "drafts", want: verdict.Pass},
	{mode: "prompt_claimed", rule: "chat.pp.gain > 0", want: verdict.Invalid, why: code.LengthCounted, quick: true},
	{mode: "prompt_doubled", rule: "chat.pp.gain > 0", want: verdict.Invalid, why: code.PromptText},
	{mode: "half_sent", want: verdict.Invalid, why: code.AnswerText, quick: true},
	{mode: "split", want: verdict.Invalid, why: code.AnswerText},
	{mode: "tail_unsent", want: verdict.Invalid, why: code.AnswerText},
	{mode: "canned", want: verdict.Invalid, why: code.TooFast},
	{mode: "canned_paced", want: verdict.Invalid, why: code.OtherAnswers, quick: true},
	{mode: "parrot", want: verdict.Invalid, why: code.OtherAnswers},
	{mode: "other_model", want: verdict.Invalid, why: code.OtherAnswers, quick: true},
	{mode: "begins_right", want: verdict.Invalid, why: code.OtherAnswers, quick: true},
	{mode: "random_words", want: verdict.Invalid, why: code.OtherAnswers},
	{mode: "random_letters", want: verdict.Invalid, why: code.OtherAnswers},
	{mode: "early_space", rule: "chat.ttft.gain > 0.05", want: verdict.Invalid},
	{mode: "early_newline", rule: "chat.ttft.gain > 0.05", want: verdict.Invalid},
	{mode: "early_zero", rule: "chat.ttft.gain > 0.05", want: verdict.Invalid},
	{mode: "held_back", want: verdict.Invalid, quick: true},
	{mode: "last_late", want: verdict.Invalid},
	{mode: "too_fast", want: verdict.Invalid, why: code.TooFast},
	{mode: "cached_beyond", want: verdict.Invalid},
	{mode: "bursts", want: verdict.Inconclusive}, // an answer in one piece has no speed
	{mode: "one_token", want: verdict.Invalid},
	{mode: "nan", want: verdict.Invalid},
	{mode: "empty", want: verdict.Invalid},
	{mode: "hidden", want: verdict.Invalid},
	{mode: "dies", want: verdict.Fail},
	{mode: "later_wrong", want: verdict.Invalid},
	{mode: "forced_accepted", want: verdict.Invalid},
	{mode: "requested_only", see: "*moe backend*CUTLASS*", rule: "chat.tg.gain > -0.5", want: verdict.Invalid},
	{mode: "really", see: "*moe backend*CUTLASS*", want: verdict.Pass},
}

func init() {
	// What an engine remembers from one launch to the next is never asked again.
	for _, parent := range []string{"", "remembering"} {
		cheats = append(cheats, cheat{mode: "remembers", parent: parent, rule: "chat.tg.gain > 0.05", want: verdict.Fail})
	}
}

// outcomeOf is the newest decision of a node in a state folder; nil where there is
// none.
func outcomeOf(t *testing.T, state, node string) *ledger.Decision {
	t.Helper()
	kept, err := store.OpenReadOnly(state)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	history := kept.History(node)
	if len(history) == 0 {
		return nil
	}
	return history[len(history)-1].Decision
}
