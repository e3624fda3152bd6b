package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Model is what a page shows: words for its text, and numbers for its figures.
type Model struct {
	Plan, Run, Tool string
	Started         time.Time
	Outcome         Mark
	Headline        string
	Facts, Machine  []Fact
	Graph           Graph
	Standing        []Standing
	Phases          []Phase
	Features        []Feature
	Stack           []Table
	Targets         []Table
	TargetNotes     []string
	Figures         Figures
	// Revision is set on a page that follows a run: the state of the ledger it shows.
	Revision string
}

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// Table has a caption for readers who cannot see its position.
type Table struct {
	Caption string
	report.Table
}

// Classes are the columns' styles: numbers right-aligned, short texts on one line.
func (t Table) Classes() []string {
	const short = 24
	classes := make([]string, len(t.Head))
	for i := range classes {
		numeric, one := len(t.Rows) > 0, true
		for _, row := range t.Rows {
			cell := row[i]
			number := cell != "" && strings.ContainsAny(cell[:1], "+-0123456789") && !strings.Contains(cell, ":")
			numeric = numeric && (number || cell == "–")
			one = one && len([]rune(cell)) <= short
		}
		switch {
		case numeric:
			classes[i] = "n"
		case one:
			classes[i] = "one"
		}
	}
	return classes
}

// Mark is a verdict, or a state in its place, as a shape and a word.
type Mark struct{ Shape, Word string }

// Shapes for states without a verdict.
const (
	locked = "locked"
	open   = "open"
)

// Phase is a gate with the reasons for its outcome.
type Phase struct {
	Name string
	Mark Mark
	Why  []string
}

// Feature is one port with its evidence.
type Feature struct {
	Name, Phase string
	Mark        Mark
	Accepted    bool
	// Gain is the number by which its verdict was decided, with its name.
	Gain       string
	Hypothesis string
	Levels     []Level
	Notes      []string
	Criteria   []Criterion
	Findings   []string
	Figures    []Figure
	Arms       []Table
}

// Level is one test level.
type Level struct {
	Name string
	Mark Mark
}

// Criterion is a rule of a feature.
type Criterion struct {
	Name, Rule string
	Mark       Mark
	Decides    bool
	Evidence   []string
}

// Figure is a plot: the list of Figures it is drawn from, and its index there.
type Figure struct {
	Kind  string
	At    int
	Title string
}

// Edge says that phase To needs phase From.
type Edge struct{ From, To string }

// Of is the page of a state directory. edges are those of the plan's phases, as far as
// known, looks the state of the tests of a run in progress.
func Of(st *store.Store, edges []Edge, looks []runtime.Event) (*Model, error) {
	runs := st.Runs()
	if len(runs) == 0 {
		return nil, fmt.Errorf("nothing was applied here, so there is nothing to report")
	}
	last := runs[len(runs)-1]
	view, err := st.Run(last.ID)
	if err != nil {
		return nil, err
	}
	m := &Model{Plan: last.Plan, Run: last.ID, Started: last.Started}
	if s := view.Start; s != nil {
		m.Tool = s.Tool
		for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
			m.Machine = append(m.Machine, Fact{name, s.Environment[name]})
		}
	}
	b := &builder{Model: m, st: st, now: time.Now()}
	if report.WorkOn(st).State == report.UnderWay {
		b.standing(looks)
	}
	rows := report.Rows(st)
	features := 0
	for _, r := range rows {
		if r.Decided != nil && !r.Gone && r.Decided.Kind == ledger.KindFeature {
			features++
		}
	}
	b.reads = max(1, mostRead/2/max(1, features))
	for _, r := range rows { // phases and features in the plan's order
		phase, isPhase := report.PhaseNode(r.Node)
		switch d := r.Decided; {
		case r.Gone:
		case d != nil && d.Kind == ledger.KindFeature:
			b.feature(d.Decision)
		case d != nil && isPhase:
			b.Phases = append(b.Phases, Phase{phase, b.mark(d.Decision), report.Told(&b.told, d.Decision, d.Why())})
		case d != nil && len(d.Rows) > 1:
			matrix := Matrix{Title: d.Node, Rows: d.Rows}
			for _, row := range d.Rows {
				for _, c := range row.Cells {
					if c.Speedup != nil && !slices.Contains(matrix.Columns, c.Address) {
						matrix.Columns = append(matrix.Columns, c.Address)
					}
				}
			}
			if len(matrix.Columns) > 0 {
				m.Figures.Matrices = append(m.Figures.Matrices, matrix)
			}
		case !isPhase:
		case !r.Locked.IsZero():
			b.Phases = append(b.Phases, Phase{phase, Mark{locked, locked}, []string{r.Locked.String()}})
		default:
			b.Phases = append(b.Phases, Phase{phase, Mark{open, "not decided yet"}, nil})
		}
	}
	for _, r := range st.Records() {
		if d := r.Decision; d != nil && (d.Kind == ledger.KindFeature || d.Kind == ledger.KindGate) {
			m.Figures.Timeline = append(m.Figures.Timeline, Decided{r.Time.UTC(), d.Node, string(d.Verdict), d.Attempt})
		}
	}
	m.Figures.Timeline = m.Figures.Timeline[max(0, len(m.Figures.Timeline)-mostDecided):]

	stack, stacks := report.AcceptedStack(st), report.Stacks(st)
	ends, gates := report.EndsOf(st), report.GatedNow(st, b.now)
	m.Headline = gates.Line() + "."
	switch {
	case len(stack.Features) > 0:
		m.Headline += " Accepted: " + stack.Sum() + "."
		m.Stack = []Table{{"Accepted features", report.StackTable(stack, minute)}}
	case stacks:
		m.Headline += " Nothing is accepted yet: the stack is the baseline."
	}
	if ends.Command != "" {
		m.Headline += " " + report.Apart + " " + ends.Command
	}
	if ends.Pair != nil {
		m.Stack = append(m.Stack, Table{"Baseline and accepted stack, side by side", ends.Table()})
	}
	if contests := report.Contests(st); len(contests) > 0 {
		m.Targets, m.TargetNotes = []Table{{"Targets", report.ContestTable(contests)}}, report.ContestNotes(contests)
	}
	m.Outcome = Mark{string(view.Verdict), string(view.Verdict)}
	switch {
	case report.WorkOn(st).State == report.UnderWay:
		m.Outcome = Mark{open, "under way"}
	case !view.Done:
		m.Outcome = Mark{string(verdict.Error), "did not finish"}
	case view.Verdict == "":
		m.Outcome = Mark{open, view.Reason.String()}
	}
	m.Facts = []Fact{{"gates unlocked" + gates.Mark(), fmt.Sprintf("%d of %d", gates.Unlocked, gates.All)}}
	if stacks {
		m.Facts = append(m.Facts, Fact{"features accepted", fmt.Sprintf("%d of %d", len(stack.Features), len(m.Features))})
	}
	launches := fmt.Sprint(len(st.Launches(store.LaunchFilter{})))
	m.Facts = append(m.Facts, Fact{"launches", launches}, Fact{"runs", fmt.Sprint(len(runs))})
	m.Graph = layout(m.Phases, edges)
	return m, nil
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

type builder struct {
	*Model
	st   *store.Store
	now  time.Time
	told verdict.Page
	// reads is how many launches of each arm are read for distributions and traces, equally
	// many of every feature.
	reads int
}

// mark is a decision's outcome with people's overrides.
func (b *builder) mark(d *ledger.Decision) Mark {
	o := report.OverruledOf(d, b.st.Waiver(d.Node), b.now)
	m := Mark{string(d.Verdict), o.Word()}
	if o.State == "waived" {
		m.Shape = string(verdict.Waived)
	}
	return m
}

func (b *builder) feature(d *ledger.Decision) {
	f := Feature{Name: d.Feature, Phase: d.Phase, Mark: b.mark(d), Accepted: d.Accepted, Notes: verdict.Lines(d.Marks()), Findings: verdict.Lines(d.Findings)}
	if h := d.Hypothesis; h != nil {
		f.Hypothesis = strings.TrimSpace(fmt.Sprintf("%s %s", h.Metric, h.Expect))
		if h.Because != "" {
			f.Hypothesis += ", because " + strings.TrimSuffix(h.Because, ".")
		}
		f.Hypothesis += ": " + cmp.Or(h.Outcome, "open")
	}
	for _, l := range d.Levels {
		f.Levels = append(f.Levels, Level{l.Name, Mark{string(l.Verdict), string(l.Verdict)}})
	}
	for _, r := range d.Rules {
		f.Criteria = append(f.Criteria, Criterion{r.Name, r.Expr, Mark{string(r.Verdict), string(r.Verdict)}, r.Decides, report.Told(&b.told, d, r.Reasons)})
		for _, c := range r.Comparisons {
			if fig, ok := b.test(r.Name+": launches by round, and the bounds that decided", c.Test); ok {
				f.Figures = append(f.Figures, fig)
			}
		}
	}
	if r := report.Deciding(d); r != nil {
		for _, in := range r.Inputs {
			if e := r.Estimate(in); e.Decided && e.Value != nil {
				f.Gain = in.Path + " " + e.In(in.Unit)
				break
			}
		}
	}
	e, of := report.EvidenceOf(d), "all launches"
	arms := []ledger.Arm{e.Parent, e.Candidate}
	for i := range arms {
		if n := len(arms[i].Launches); n > b.reads {
			arms[i].Launches, of = arms[i].Launches[n-b.reads:], "the last "+verdict.Launches(b.reads)
		}
	}
	f.Figures = slices.Concat(f.Figures, b.spreads(arms, of), b.traces(arms), b.kernels(e))
	for i, t := range report.ArmTables(b.st, d) {
		f.Arms = append(f.Arms, Table{fmt.Sprintf("Measurements of %s, table %d", f.Name, i+1), t})
	}
	b.Features = append(b.Features, f)
}
