package quality

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
)

// EvalQuestion is a line of an eval's file: a question, and what its answer is or matches.
type EvalQuestion struct {
	Question  string `json:"question"`
	Answer    string `json:"answer,omitempty"`
	Pattern   string `json:"pattern,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
}

// ParseEval reads an eval's file, one JSON object per line. There must be enough questions
// that an engine without a mistake of its own could pass at that drop, in points.
func ParseEval(name, text string, maxDrop float64) (all []EvalQuestion, err error) {
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var q EvalQuestion
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		err := d.Decode(&q)
		if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
			err = errors.New("more than one JSON value")
		}
		_, bad := regexp.Compile(q.Pattern)
		switch {
		case err != nil:
			err = fmt.Errorf("not an object of question, answer or pattern, and max_tokens: %w",
				foreign.NotJSON([]byte(line), err))
		case strings.TrimSpace(q.Question) == "":
			err = errors.New("the question is empty")
		case strings.TrimSpace(q.Answer) == "" && q.Pattern == "":
			err = errors.New("it has neither an answer nor a pattern")
		case q.Answer != "" && q.Pattern != "":
			err = errors.New("it has both an answer and a pattern: keep one")
		case bad != nil:
			err = fmt.Errorf("%w; the syntax of a pattern is RE2", foreign.NotPattern(bad))
		case q.Pattern != "" && regexp.MustCompile(q.Pattern).MatchString(""):
			err = fmt.Errorf("the pattern %q matches an empty answer, so it grades nothing", q.Pattern)
		case q.MaxTokens < 0:
			err = fmt.Errorf("max_tokens is %d", q.MaxTokens)
		case slices.ContainsFunc(all, func(other EvalQuestion) bool { return other.Question == q.Question }):
			err = errors.New("the question was asked before: remove one of the two")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		all = append(all, q)
	}
	least := 1
	for stats.PairedDrop(0, 0, least) > maxDrop/100 {
		least++
	}
	if len(all) < least {
		return nil,
			fmt.Errorf("%s has %s, too few to show a drop of at most %v points: even without a mistake that takes %d",
				name, verdict.Count(len(all), "question"), maxDrop, least)
	}
	return all, nil
}

// Right reports whether a text is right: it matches the pattern, its last number is the
// answer, or it has the answer as whole words, ignoring case.
func (q EvalQuestion) Right(text string) bool {
	if q.Pattern != "" {
		re, err := regexp.Compile(q.Pattern)
		return err == nil && re.MatchString(text)
	}
	want := strings.TrimSpace(q.Answer)
	if number.FindString(want) == want {
		found := number.FindAllStringIndex(text, -1)
		if len(found) == 0 {
			return false
		}
		at := found[len(found)-1]
		got := text[at[0]:at[1]]
		if before, _ := utf8.DecodeLastRuneInString(text[:at[0]]); inWord(before) || before == ')' {
			got = strings.TrimPrefix(got, "-") // 7-3, not minus three
		}
		return value(got) == value(want)
	}
	text, want = strings.ToLower(text), strings.ToLower(want)
	for from := 0; want != ""; {
		i := strings.Index(text[from:], want)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, size := utf8.DecodeRuneInString(text[i+len(want):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		if from = i + len(want) + size; size == 0 {
			return false
		}
	}
	return false
}

// number matches a number, with separators of thousands.
var number = regexp.MustCompile(`-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?`)

func value(text string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return math.NaN() // equals nothing
	}
	return v
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Eval is the answers of one launch to an eval's questions. It is an artifact.
type Eval struct {
	store.Header
	// Asked is the digest of the level's settings.
	Asked     string         `json:"asked"`
	Questions []EvalQuestion `json:"questions"`
	// Texts are the answers, without secrets.
	Texts []string `json:"texts"`
}

const (
	// UsualDrop is how many points may be lost by default.
	UsualDrop = 2
	// worse is the p below which a variant answers worse than its parent.
	worse = 0.05
)

// EvalAnswers is where a launch keeps them, among its levels' artifacts.
const EvalAnswers = plans.EvalLevel + "/answers.json"

// Ask asks an engine the questions, greedily, as many at a time, and keeps its answers.
func (e *Eval) Ask(ctx context.Context, st *launch.Started, api openai.API, tokens, atOnce int) error {
	e.Texts = make([]string, len(e.Questions))
	for from := 0; from < len(e.Questions); from += atOnce {
		if err := batch(min(atOnce, len(e.Questions)-from), func(i int) error {
			q := e.Questions[from+i]
			answer, err := st.Client.Stream(ctx, openai.Request{
				API: api, Prompt: q.Question, MaxTokens: cmp.Or(q.MaxTokens, tokens),
				Timeouts: openai.Timeouts{Total: answerLimit, First: answerLimit, Stall: answerLimit},
			})
			e.Texts[from+i] = st.Lab.Redact.Text(answer.Text)
			return err
		}); err != nil {
			return err
		}
	}
	return st.LeaveArtifact(EvalAnswers, e)
}

// Graded returns the answers that a launch keeps. Too few are an error.
func Graded(from *store.Store, l *ledger.Launch) (*Eval, error) {
	e := &Eval{}
	err := from.ReadArtifact(l, EvalAnswers, e)
	if err == nil && (len(e.Questions) == 0 || len(e.Texts) != len(e.Questions)) {
		err = fmt.Errorf("launch %s has %d answers to %d questions", l.ID, len(e.Texts), len(e.Questions))
	}
	return e, err
}

// Right grades all answers.
func (e *Eval) Right() (right []bool) {
	for i, q := range e.Questions {
		right = append(right, q.Right(e.Texts[i]))
	}
	return right
}

// EvalFinds are the numbers of a level "eval".
var EvalFinds = []plans.LevelResult{
	{Name: "accuracy", Unit: "share", Better: "higher", Doc: "Share of right answers."},
	{
		Name: "lost", Unit: "questions", Better: "lower",
		Doc: "Questions that the parent answers right and the variant wrong.",
	},
	{
		Name: "won", Unit: "questions", Better: "higher",
		Doc: "Questions that the parent answers wrong and the variant right.",
	},
	{Name: "flips", Unit: "questions", Better: "lower", Doc: "Questions on which two launches of the parent differ."},
	{Name: "drop", Unit: "points", Better: "lower", Doc: "How many points of accuracy the variant loses."},
	{Name: "drop_upper", Unit: "points", Better: "lower", Doc: "Its upper bound (one-sided, 99%)."},
}

// JudgeEval compares graded answers with those of the parent's launches, newest last, question
// by question.
func JudgeEval(own []bool, parents [][]bool, maxDrop float64, name string) (verdict.Verdict, []verdict.Reason, Values) {
	n, newest := len(own), parents[len(parents)-1]
	was, is := count(newest), count(own)
	lost, won := pairs(newest, own)
	flips, noise := 0, 0
	if len(parents) > 1 {
		l, w := pairs(parents[0], newest)
		flips, noise = l+w, max(l-w, w-l)
	}
	drop, upper := 100*float64(lost-won)/float64(n), 100*stats.PairedDrop(lost, won, n)
	values := Values{
		"accuracy": float64(is) / float64(n),
		"lost":     float64(lost), "won": float64(won), "flips": float64(flips), "drop": drop, "drop_upper": upper,
	}
	args := []verdict.Arg{
		verdict.Text("was", percent(was, n)), verdict.Text("is", percent(is, n)), verdict.Int("n", n),
		verdict.Text("points", strconv.FormatFloat(0-drop, 'f', 1, 64)), verdict.Int("lost", lost),
		verdict.Int("won", won),
		verdict.Text("parent", name), verdict.Num("upper", upper, "points"), verdict.Num("most", maxDrop, "points"),
	}
	if len(parents) > 1 {
		args = append(args, verdict.Int("flips", flips))
	}
	p := signs(lost, won)
	switch {
	case 100*float64(was) <= maxDrop*float64(n):
		return verdict.Invalid, []verdict.Reason{verdict.Say("eval.parent_wrong",
			"{parent} answers {was} of {n} right, so there is nothing to lose: the questions, answers or api do not "+
				"suit the model", args...)}, values
	case upper <= maxDrop:
		return verdict.Pass,
			[]verdict.Reason{verdict.Say("eval.kept", code.Graded+": a drop of at most {upper} (allowed {most})",
				args...)}, values
	case drop > maxDrop && p < worse && lost-won > noise:
		return verdict.Fail, verdict.Because(code.AccuracyLost, append(args, verdict.Num("p", p, "p"))...), values
	}
	for times := 2; times <= 1000; times++ {
		l, w := lost*times, won*times
		if 100*stats.PairedDrop(l, w, n*times) <= maxDrop || drop > maxDrop && signs(l, w) < worse {
			args = append(args, verdict.Int("needed", n*times))
			break
		}
	}
	return verdict.Inconclusive, verdict.Because(code.AccuracyOpen, args...), values
}

func count(right []bool) (n int) {
	for _, r := range right {
		if r {
			n++
		}
	}
	return n
}

func percent(right, n int) string {
	return strconv.FormatFloat(100*float64(right)/float64(n), 'f', 1, 64) + "%"
}

// pairs counts what only the first, and only the second, has right.
func pairs(a, b []bool) (lost, won int) {
	for i := range a {
		switch {
		case a[i] && !b[i]:
			lost++
		case b[i] && !a[i]:
			won++
		}
	}
	return lost, won
}

// signs is the p of the exact sign test that more are lost than won.
func signs(lost, won int) float64 {
	p, _, err := stats.Signs(slices.Concat(slices.Repeat([]float64{1}, lost), slices.Repeat([]float64{-1}, won)))
	if err != nil {
		return 1
	}
	return p
}

// sampleDate ends the name of a file of samples.
var sampleDate = regexp.MustCompile(`_\d{4}-\d\d-\d\dT[^/]*$`)

// Documents are what a launch's samples say of its documents, by task and number.
type Documents struct {
	Right map[string]bool
	// Empty have no text in any response: the engine ended at once, or the harness lost the
	// request. Its samples do not tell these apart.
	Empty map[string]bool
	// Scores are, by filter, right answers, all, and how many counted; for messages.
	Scores map[string][3]int
}

// Samples reads what lm-evaluation-harness (0.4.8) leaves with --log_samples, by path: a row
// for each document and filter, with doc_id, the names of its metrics and their values. The
// first metric of a document's row of the filter counts, of its first row if none is named,
// and must be 0 or 1.
func Samples(files map[string][]byte, filter string) (*Documents, error) {
	all := &Documents{Right: map[string]bool{}, Empty: map[string]bool{}, Scores: map[string][3]int{}}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		task := sampleDate.ReplaceAllString(strings.TrimSuffix(path.Base(file), ".jsonl"), "")
		rows := json.NewDecoder(bytes.NewReader(files[file]))
		for row := 1; ; row++ {
			var sample map[string]any
			err := rows.Decode(&sample)
			if errors.Is(err, io.EOF) {
				break
			}
			metrics, _ := sample["metrics"].([]any)
			id, numbered := sample["doc_id"].(float64)
			if err == nil && (!numbered || len(metrics) == 0) {
				err = errors.New("it lacks doc_id or metrics")
			}
			if err == nil {
				name, key := fmt.Sprint(metrics[0]), fmt.Sprintf("%s %.0f", strings.TrimPrefix(task, "samples_"), id)
				value, _ := sample[name].(bool)
				right := value || sample[name] == 1.0
				of := fmt.Sprint(sample["filter"])
				score := all.Scores[of]
				if score[1]++; right {
					score[0]++
				}
				_, known := all.Right[key]
				if !known && (filter == "" || of == filter) {
					all.Right[key] = right
					if responses, has := sample["resps"]; has && noText(responses) {
						all.Empty[key] = true
					}
					score[2]++
				}
				if all.Scores[of] = score; filter != "" && of != filter {
					continue
				}
				if !right && sample[name] != 0.0 && sample[name] != false {
					err = fmt.Errorf("its %s is %v, neither 0 nor 1", name, sample[name])
				}
			}
			if err != nil {
				return nil, fmt.Errorf("%s, row %d: %w", file, row, err)
			}
		}
	}
	if len(all.Right) == 0 && len(all.Scores) > 0 {
		return nil,
			fmt.Errorf("no answers of the filter %q; there are %q", filter, slices.Sorted(maps.Keys(all.Scores)))
	}
	if len(all.Right) == 0 {
		return nil, errors.New("no documents in the samples")
	}
	return all, nil
}

// noText reports whether responses, lists in lists, are null and empty texts alone.
func noText(responses any) bool {
	list, is := responses.([]any)
	return is && !slices.ContainsFunc(list, func(r any) bool { return !noText(r) }) ||
		responses == nil || responses == ""
}

// Together are two launches' documents in one order. Other documents are an error.
func Together(a, b map[string]bool) (of, with []bool, err error) {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		right, known := b[key]
		if of, with = append(of, a[key]), append(with, right); !known || len(a) != len(b) {
			return nil, nil,
				fmt.Errorf("one launch answered %d documents and the other %d, %s only once", len(a), len(b), key)
		}
	}
	return of, with, nil
}
