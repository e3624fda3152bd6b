package bisect

import (
	"fmt"
	"strings"
)

// Said is the answer in one sentence. noise is the command line that shows what launches resolve.
func (a *Answer) Said(j *Job, noise string) string {
	parent, child, bad := j.Candidates[a.Parent], j.Candidates[a.Child], j.Candidates[j.Bad()]
	what := strings.TrimSpace(child.ID + " " + child.Title)
	by := ""
	if a.Step != nil {
		by = a.Step.Brief
	}
	switch found := a.Findings[j.Bad()]; {
	case a.Outcome == Found:
		return fmt.Sprintf("FOUND: %s: %s, against the one before it, %s", what, by, parent.ID)
	case a.Outcome == Between:
		return fmt.Sprintf("BETWEEN %s and %s: %s; the %d between them could not be measured or told apart", parent.ID,
			what, by, a.Child-a.Parent-1)
	case a.Outcome == Same:
		return fmt.Sprintf("SAME: %s keeps the rule: %s. What came and went between them shows at neither end.",
			bad.ID, found.Brief)
	case found.State == Skipped:
		return fmt.Sprintf("ERROR: %s cannot be measured: %s", bad.ID, found.Brief)
	case a.Step == nil:
		return fmt.Sprintf("OPEN: good and bad are not told apart: %s. What launches of this plan resolve: %s",
			found.Brief, noise)
	}
	return fmt.Sprintf("OPEN: the search ended at %s and %s, which do not differ: %s. It took a wrong turn, or what "+
		"bad lost came in several small steps.", parent.ID, child.ID, by)
}

// Remarks are parts of the change that came before or after what was found, by bounds that do
// not overlap.
func (a *Answer) Remarks(j *Job) (remarks []string) {
	if a.Step == nil || a.Step.State != LikeBad {
		return nil
	}
	parent, child, bad := a.Findings[a.Parent], a.Findings[a.Child], a.Findings[j.Bad()]
	ids := j.Candidates
	worse := func(x, y Finding) bool { // x than y, both against good
		return x.Low != nil && y.High != nil && x.High != nil && *x.High < *y.Low
	}
	zero := 0.0
	if a.Parent > 0 && worse(parent, Finding{Low: &zero, High: &zero}) {
		remarks = append(remarks, fmt.Sprintf("Part of it came earlier: %s is %s. To find that: --bad %s",
			ids[a.Parent].ID, parent.Brief, ids[a.Parent].ID))
	}
	if a.Child < j.Bad() && worse(bad, child) {
		remarks = append(remarks, fmt.Sprintf("More came later: %s is %s, bad %s. To find that: --good %s",
			ids[a.Child].ID, child.Brief, bad.Brief, ids[a.Child].ID))
	}
	if a.Child < j.Bad() && worse(child, bad) {
		remarks = append(remarks,
			fmt.Sprintf("Part of it came back later: %s is %s, bad only %s.", ids[a.Child].ID, child.Brief, bad.Brief))
	}
	return remarks
}
