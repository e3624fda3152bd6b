package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Since is what changed since an earlier state of the record.
type Since struct {
	// Name is how a person named that state, Run the run that ended with it, if it was a
	// run, and At its time.
	Name string    `json:"since"`
	Run  string    `json:"run,omitempty"`
	At   time.Time `json:"at"`
	// Changes are the nodes whose outcome differs, Then and Now the stacks.
	Changes []Changed `json:"changes"`
	Then    []string  `json:"then"`
	Now     []string  `json:"now"`
}

// Changed is a node whose outcome changed.
type Changed struct {
	Node string `json:"node"`
	// Was and Is are verdicts, with "accepted" for a feature in the stack; empty if it
	// was not decided, or no longer is.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
	// Reasons are the causes of the present outcome.
	Reasons []verdict.Reason `json:"reasons,omitempty"`
}

// SinceRun is what changed since a run ended, which is given as to store.Run.
func SinceRun(st *store.Store, name string) (*Since, error) {
	run, err := st.Run(name)
	if err != nil {
		return nil, err
	}
	for i, r := range st.Records() {
		if r.Run == run.ID && r.End != nil {
			return sinceRecord(st, i, Since{Name: name, Run: run.ID, At: r.Time}), nil
		}
	}
	return nil, fmt.Errorf("run %s has not ended, or was killed: name a run that ended", run.ID)
}

// SinceTime is what changed since a time, which a person gave that name.
func SinceTime(st *store.Store, name string, at time.Time) *Since {
	last := -1
	for i, r := range st.Records() {
		if !r.Time.After(at) {
			last = i
		}
	}
	return sinceRecord(st, last, Since{Name: name, At: at})
}

// sinceRecord is what changed since the record at that position, -1 being before all.
func sinceRecord(st *store.Store, last int, s Since) *Since {
	s.Changes, s.Then, s.Now = []Changed{}, []string{}, []string{} // lists in JSON, even if empty
	then := map[string]*ledger.Decision{}
	for i, r := range st.Records() {
		if r.Decision != nil && i <= last {
			then[r.Decision.Node] = r.Decision
		}
	}
	standing := map[string]bool{}
	for _, d := range Standing(st) {
		standing[d.Node] = true
		was := then[d.Node]
		if inStack(was) {
			s.Then = append(s.Then, d.Feature)
		}
		if inStack(d.Decision) {
			s.Now = append(s.Now, d.Feature)
		}
		if c := (Changed{d.Node, outcomeWord(was), outcomeWord(d.Decision), d.Why()}); c.Was != c.Is && tells(d.Decision) {
			s.Changes = append(s.Changes, c)
		}
	}
	for _, r := range Rows(st) {
		if was := then[r.Node]; was != nil && !standing[r.Node] && tells(was) {
			c := Changed{Node: r.Node, Was: outcomeWord(was)}
			if !r.Locked.IsZero() {
				c.Is, c.Reasons = "locked", []verdict.Reason{r.Locked}
			}
			s.Changes = append(s.Changes, c)
		}
	}
	return &s
}

// tells reports whether people follow a node: features and what ends phases.
func tells(d *ledger.Decision) bool {
	return d.Kind == ledger.KindFeature || d.Kind == ledger.KindGate || d.Kind == ledger.KindPhase || d.Node == ledger.Baseline
}

func inStack(d *ledger.Decision) bool {
	return d != nil && d.Kind == ledger.KindFeature && d.Accepted && d.Verdict.Unlocks()
}

func outcomeWord(d *ledger.Decision) string {
	if d == nil {
		return ""
	}
	word := verdictWord(d.Verdict, len(d.OnSeenData) > 0)
	if inStack(d) {
		word += ", accepted"
	}
	return word
}

// Markdown writes what changed.
func (s *Since) Markdown(w io.Writer) error {
	p := NewWriter(nil, nil)
	p.Line("# Since %s\n", s.Name)
	if s.Run != "" {
		p.Line("Run `%s`, which ended %s.\n", s.Run, ledger.Minute(s.At))
	} else {
		p.Line("Decisions up to %s.\n", ledger.Minute(s.At))
	}
	then, now := strings.Join(s.Then, " + "), strings.Join(s.Now, " + ")
	p.Line("Stack then: %s. Now: %s.\n", cmp.Or(then, "baseline"), cmp.Or(now, "baseline"))
	t := Table{Head: []string{"Node", "Then", "Now", "Why"}}
	for _, c := range s.Changes {
		t.Rows = append(t.Rows, []string{c.Node, cmp.Or(c.Was, "–"), cmp.Or(c.Is, "–"), cmp.Or(strings.Join(verdict.Lines(c.Reasons), "\n"), "–")})
	}
	if len(t.Rows) == 0 {
		p.Line("No feature or gate changed its outcome.\n")
	} else {
		p.Table(t)
	}
	_, err := io.WriteString(w, p.String())
	return err
}
