package bisect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/questions/arms"
)

// Job is a search on a plan's engine: an Oracle that asks an apply.
type Job struct {
	Plan       *plans.Plan
	Candidates []Candidate
	// Source is the name of the source that candidates are commits or builds of; empty for the
	// only one.
	Source string
	// Rule is what the bad candidate breaks.
	Rule string
	// Apply applies a question about a feature, and returns when its outcome is in State. target
	// names the nodes to run; all if it is empty.
	Apply func(ctx context.Context, question, feature string, target []string) error
	State string
	// Rerun measures every candidate again, and tries again what broke.
	Rerun bool
	// Observe gets each finding against the good one as it comes.
	Observe func(candidate int, f Finding)

	compare *plans.Compare
	// level is set if a level is the oracle.
	level string
	// rules are those by which candidates were compared with the good one.
	rules map[int]string
}

// Bad is the number of the bad candidate.
func (j *Job) Bad() int { return len(j.Candidates) - 1 }

// StepFeature is the feature that compares the found candidate with the one before it.
const StepFeature = "first_bad"

// First is the first question: the bad candidate against the good one.
func (j *Job) First() (string, error) {
	return j.question([]int{0, j.Bad()}, j.feature(j.Bad(), j.Rule))
}

// question asks about candidates in phases; the first is the good one.
func (j *Job) question(candidates []int, phases string) (string, error) {
	q := &arms.Question{Plan: j.Plan, Source: j.Source, Phases: phases}
	for _, i := range candidates {
		q.Arms = append(q.Arms, j.Candidates[i].Arm)
	}
	return q.HCL()
}

func (j *Job) feature(i int, rule string) string {
	name := j.Candidates[i].Name
	return phase(name, name, "baseline", rule)
}

// phase has one feature, a trial of an arm on another.
func phase(name, arm, on, rule string) string {
	w := &arms.Writer{}
	w.Phase(name, name, map[string]string{arms.Knob: arm}, "rule", rule, "builds_on = "+on, "accept = []")
	return string(w.Format()) + "\n"
}

// Check reads the rule in the plan as loaded with the first question. An error says what to
// write.
func (j *Job) Check(loaded *load.Result) error {
	rule, diags := loaded.CompileRule(j.Rule, j.Candidates[j.Bad()].Name)
	for _, err := range diags.Errs() {
		return fmt.Errorf("--rule %q: %w", j.Rule, err)
	}
	if rule.Cond == nil || rule.Cond.Compare == nil {
		return fmt.Errorf("--rule %q is not one comparison: write one, such as \"chat.tg.gain >= -3%%\", or "+
			"\"levels.correctness == 'pass'\"", j.Rule)
	}
	j.compare = rule.Cond.Compare
	for _, in := range j.compare.Inputs() {
		switch {
		case in.Kind == plans.InputLevel &&
			(j.compare.Op != "==" || j.compare.Negated || j.compare.Right.Constant != "pass"):
			return fmt.Errorf("--rule %q: a level is asked whether it passes: write \"levels.%s == 'pass'\"",
				j.Rule, in.Name)
		case in.Kind == plans.InputLevel:
			j.level = in.Name
		case in.Kind == plans.InputMetric && !in.Comparing():
			return fmt.Errorf("--rule %q does not compare bad with good: use .gain, .change or .delta, such as "+
				"\"%s.gain >= -3%%\"", j.Rule, in.Path)
		}
	}
	return nil
}

// relative reports whether the rule is about a relative change, of which there is a half.
func (j *Job) relative() bool { return j.compare.Metric != nil && j.compare.Metric.Ratio() }

// at is the rule with another threshold, a gain in the metric's better direction.
func (j *Job) at(gain float64) string {
	if j.compare.AtLeast {
		return fmt.Sprintf("%s >= %.4f", j.compare.Metric.Path, gain)
	}
	return fmt.Sprintf("%s <= %.4f", j.compare.Metric.Path, 0-gain)
}

// Target names the nodes that a question needs: no benchmark if a level is the oracle.
func (j *Job) Target(i int) []string {
	if j.level == "" {
		return nil
	}
	return []string{runtime.QualifyID(j.Candidates[i].Name)}
}

// Ends implements Oracle.
func (j *Job) Ends(ctx context.Context) (Finding, error) {
	question, err := j.First()
	if err != nil {
		return Finding{}, err
	}
	return j.againstGood(ctx, j.Bad(), j.Rule, question)
}

// Side implements Oracle.
func (j *Job) Side(ctx context.Context, i int, gain float64) (Finding, error) {
	rule := j.Rule
	if j.relative() {
		rule = j.at(gain)
	}
	question, err := j.question([]int{0, i}, j.feature(i, rule))
	if err != nil {
		return Finding{}, err
	}
	return j.againstGood(ctx, i, rule, question)
}

// againstGood is the finding of a candidate, and remembers its rule for the last question.
func (j *Job) againstGood(ctx context.Context, i int, rule, question string) (Finding, error) {
	f, err := j.ask(ctx, question, j.Target(i), j.Candidates[i].Name)
	if err == nil {
		if j.rules == nil {
			j.rules = map[int]string{}
		}
		if f.State != Skipped {
			j.rules[i] = rule
		}
		j.Observe(i, f)
	}
	return f, err
}

// Step implements Oracle. A level that failed once is not asked again.
func (j *Job) Step(ctx context.Context, parent, child int) (Finding, error) {
	if j.level != "" {
		return Finding{State: LikeBad, Brief: "level " + j.level}, nil
	}
	of, on, phases, rule := []int{0, child}, "baseline", "", j.Rule
	if j.relative() {
		rule = j.at(0)
	}
	if parent > 0 { // as it was decided
		of, on, phases = []int{0, parent, child}, "feature."+j.Candidates[parent].Name,
			j.feature(parent, j.rules[parent])
	}
	question, err := j.question(of, phases+phase(StepFeature, j.Candidates[child].Name, on, rule))
	if err != nil {
		return Finding{}, err
	}
	return j.ask(ctx, question, nil, StepFeature)
}

// ErrStopped is a search that was interrupted; the same command goes on with it.
var ErrStopped = errors.New("interrupted")

// ask is what an apply of a question finds about a feature. What did not build or start is not
// tried again when a search resumes.
func (j *Job) ask(ctx context.Context, question string, target []string, feature string) (Finding, error) {
	if st, err := store.OpenReadOnly(j.State); err == nil {
		f, broke := j.brokenBefore(st, question, feature)
		st.Close()
		if broke && !j.Rerun {
			return f, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Finding{}, err
	}
	if err := j.Apply(ctx, question, feature, target); err != nil {
		return Finding{}, err
	}
	st, err := store.OpenReadOnly(j.State)
	if err != nil {
		return Finding{}, err
	}
	defer st.Close()
	run, err := st.Run("latest")
	if err != nil || run.End == nil || run.End.Exit == verdict.ExitInterrupted {
		return Finding{}, cmp.Or(err, ErrStopped)
	}
	if base := st.Journal().Latest(runtime.BaselineID); base == nil || base.Verdict != verdict.Pass {
		return Finding{}, fmt.Errorf("the good one, %s, does not pass: %s", j.Candidates[0].ID, whyOf(base))
	}
	return j.finding(st, feature), nil
}

// brokenBefore is the finding of an apply of the same question that broke.
func (j *Job) brokenBefore(st *store.Store, question, feature string) (Finding, bool) {
	for _, info := range slices.Backward(st.Runs()) {
		run, err := st.Run(info.ID)
		if err != nil || run.Start == nil || run.Start.Inputs == nil || run.Start.Inputs.Question != question {
			continue
		}
		if d := st.Journal().Latest(runtime.QualifyID(feature)); run.End == nil || d == nil ||
			d.Verdict != verdict.Error {
			break
		}
		return j.finding(st, feature), true
	}
	return Finding{}, false
}

// finding reads the newest decisions about a feature.
func (j *Job) finding(st *store.Store, feature string) Finding {
	of := st.Journal().Latest
	qualified, d := of(runtime.QualifyID(feature)), of(runtime.FeatureID(feature))
	if j.level != "" && qualified != nil {
		for _, l := range qualified.Levels {
			if l.Name == j.level && l.Verdict == verdict.Pass {
				return Finding{State: LikeGood, Brief: l.Name + " passes", Verdict: l.Verdict}
			} else if l.Name == j.level && l.Verdict == verdict.Fail {
				return Finding{
					State: LikeBad, Brief: l.Name + " fails: " + whyOf(&ledger.Decision{Reasons: l.Reasons}),
					Verdict: l.Verdict,
				}
			}
		}
		d = nil
	}
	if qualified == nil || qualified.Verdict != verdict.Pass || d == nil || len(d.Rules) == 0 {
		f := Finding{State: Skipped, Brief: "nothing is on record"}
		if d = cmp.Or(qualified, d); d != nil {
			f.Brief, f.Verdict = whyOf(d), d.Verdict
		}
		return f
	}
	rule := d.Rules[0]
	f := Finding{Brief: strings.TrimPrefix(report.Brief(d), rule.Name+" "), Verdict: rule.Verdict}
	var test *verdict.Test
	if c := rule.Deciding(); c != nil {
		test = c.Test
		f.Gain, f.Low, f.High = test.Estimate, test.Low, test.High
		if !test.More {
			f.Gain, f.Low, f.High = negative(f.Gain), negative(f.High), negative(f.Low)
		}
	}
	switch rule.Verdict {
	case verdict.Pass:
		f.State = LikeGood
	case verdict.Fail:
		f.State = LikeBad
	case verdict.Inconclusive:
		if f.State = Unclear; test != nil && len(test.Looks) > 0 && feature != StepFeature &&
			feature != j.Candidates[j.Bad()].Name {
			last := test.Looks[len(test.Looks)-1]
			f.State = Lean(last.PPass, last.PFail)
		}
	default:
		f.State, f.Brief = Skipped, whyOf(d)
	}
	return f
}

func negative(x *float64) *float64 {
	if x == nil {
		return nil
	}
	y := -*x
	return &y
}

// whyOf is the root cause of a decision, on one line.
func whyOf(d *ledger.Decision) string {
	if d == nil {
		return "it was not decided"
	}
	said := ""
	if n := len(d.LogTail); n > 0 {
		said = ": " + strings.TrimSpace(d.LogTail[n-1])
	}
	if all := d.Why(); len(all) > 0 && all[0].Kind == code.CrashedAgain.Kind {
		if len(all[0].Causes) > 0 {
			said = ": " + verdict.Root(all[0].Causes[0])
		}
		return "it broke twice" + said
	} else if len(all) > 0 {
		return verdict.Root(all[0]) + said
	}
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass && len(l.Reasons) > 0 {
			return l.Name + ": " + verdict.Root(l.Reasons[0])
		}
	}
	return string(d.Verdict)
}
