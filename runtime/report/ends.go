package report

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// NotTogether stands in the place of a number that would divide launches of two sessions.
const NotTogether = "not measured together"

// Ends are the first and the last of the accepted stack.
type Ends struct {
	// Pair compares them in the newest session that launched both; nil if none did. Then
	// Command measures them together.
	Pair    *Pair  `json:"pair,omitempty"`
	Command string `json:"not_measured_together,omitempty"`
	// Base is the newest arm of the baseline; nil without one.
	Base *Arm `json:"-"`
	// across compares the newest launches of both, of two sessions, if there is no Pair.
	across *Pair
}

// EndsOf compares the baseline with the accepted stack; there is nothing to compare while
// that is empty.
func EndsOf(st *store.Store) (e Ends) {
	arms, stack := Arms(st), AcceptedStack(st)
	if of := stackArms(st, arms, Stack{Knobs: stack.Baseline}); len(of) > 0 {
		e.Base = of[0]
	}
	if len(stack.Features) == 0 {
		return e
	}
	ofBaseline := func(a *Arm) bool {
		return a.Launches[0].Knobs != nil && maps.Equal(a.Launches[0].Knobs, stack.Baseline)
	}
	for _, top := range stackArms(st, arms, stack) {
		i := slices.IndexFunc(arms, func(a *Arm) bool {
			return a.Session == top.Session && (top.Block == "" || a.Block == top.Block) && ofBaseline(a)
		})
		if i >= 0 && arms[i] != top {
			if pair := pairOfArms(st, arms[i], top, TestsOf(st)); len(pair.Metrics) > 0 {
				return Ends{Pair: &pair, Base: arms[i]}
			}
		}
		for _, a := range slices.Backward(arms) {
			if e.across == nil && ofBaseline(a) && a.Block == top.Block && a != top {
				pair := pairOfArms(st, a, top, nil)
				e.across = &pair
			}
		}
	}
	// The command measures both in one session, once the feature accepted last has a criterion
	// that reads the baseline.
	last, metric := stack.Features[len(stack.Features)-1], "METRIC"
	for _, g := range last.Gains {
		if of, is := strings.CutSuffix(g.What, ".gain"); is {
			metric = strings.TrimSuffix(of, ".root")
		}
	}
	if run, err := st.Run("latest"); err == nil {
		e.Command = fmt.Sprintf("%s # after a criterion of %s on %s.root.gain", Applied(st, run), last.Feature, metric)
	}
	return e
}

// Inputs are the suite and the variables that a run was given, as words of a command line.
func Inputs(run *ledger.RunView) (words []string) {
	if run.Start == nil || run.Start.Inputs == nil {
		return nil
	}
	in := run.Start.Inputs
	if in.Suite != "" {
		words = append(words, "--suite", in.Suite)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Variables)) {
		value := in.Variables[name]
		if text, err := strconv.Unquote(value); err == nil { // --var takes text as it is
			value = strings.NewReplacer("$${", "${", "%%{", "%{").Replace(text)
		}
		words = append(words, "--var", name+"="+value)
	}
	return words
}

// Applied is the command that repeats the apply of a run, with more flags. What is sensitive is not
// on record: "…" stands for it.
func Applied(st *store.Store, run *ledger.RunView, more ...string) string {
	before, words := "", slices.Concat([]string{"mxflow", "apply"}, more, Inputs(run))
	if run.Start != nil && run.Start.Inputs != nil {
		in := run.Start.Inputs
		for _, name := range slices.Sorted(maps.Keys(in.Env)) {
			before += name + "=" + shell.Quote(in.Env[name]) + " "
		}
		for _, name := range slices.Sorted(maps.Keys(in.Sealed)) {
			before += strings.Replace(strings.TrimPrefix(name, "env."), "var.", "MXFLOW_VAR_", 1) + "=… "
		}
	}
	if filepath.Base(st.Dir()) != store.DirName && st.ArchivedKey() == "" {
		words = append(words, "--state", st.Dir())
	}
	if run.PlanFile != "" {
		words = append(words, run.PlanFile)
	}
	return before + shell.Line(words...)
}

// Apart is what readers say of ends with a Command, before it.
const Apart = "The baseline and the accepted stack were " + NotTogether + ": no session launched both. This does:"

// Total is what the stack gains over the baseline, on one line: "Stack (2 ports): decode 40.1 →
// 1342 tok/s, 33× (at least 28×)". Empty if launches of one of them are missing.
func (e Ends) Total(st *store.Store) string {
	pair, bounds := e.Pair, ""
	if pair == nil {
		pair, bounds = e.across, ", across sessions, not tested"
	}
	c := Headline(st, Ends{Pair: pair})
	if c == nil {
		return ""
	}
	if e.Pair != nil && c.Low != nil && c.High != nil {
		bounds = fmt.Sprintf(" (at least %s)", verdict.AtLeast(*c.Low))
		if c.Better == measure.Lower {
			bounds = fmt.Sprintf(" (at most %s)", verdict.AtMost(*c.High))
		}
	}
	was, is := verdict.Short(c.Old.Mean, c.Unit), verdict.Short(c.New.Mean, c.Unit)
	if _, unit, found := strings.Cut(is, " "); found {
		was = strings.TrimSuffix(was, " "+unit)
	}
	return fmt.Sprintf("Stack (%s): %s %s → %s, %s%s", verdict.Count(len(AcceptedStack(st).Features), "port"),
		MetricWord(c.Metric), was, is, verdict.Faster(*c.Change), bounds)
}
