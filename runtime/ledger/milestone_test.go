package ledger

import (
	"strings"
	"testing"
)

// TestMilestones: a milestone names a run that has ended, by a name that is used once.
func TestMilestones(t *testing.T) {
	mark := func(run, name string) *Record {
		return &Record{Type: "milestone", Time: noon, Run: run, Milestone: &Milestone{Name: name}}
	}
	end := func(run string) *Record { return &Record{Type: "end", Time: noon, Run: run, End: &End{}} }
	for want, records := range map[string][]*Record{
		"":                                {runStart("r1"), end("r1"), mark("r1", "v1"), runStart("r2"), end("r2"), mark("r2", "v2"), mark("r1", "first")},
		"reuses the milestone v1":         {runStart("r1"), end("r1"), mark("r1", "v1"), runStart("r2"), end("r2"), mark("r2", "v1")},
		"refers to run r1, which has not": {runStart("r1"), mark("r1", "v1")},
		"without a name":                  {runStart("r1"), end("r1"), mark("r1", "")},
		`"a b" is not a milestone`:        {runStart("r1"), end("r1"), mark("r1", "a b")},
		`"latest" is reserved`:            {runStart("r1"), end("r1"), mark("r1", "latest")},
	} {
		h := newHistory()
		var err error
		for _, r := range records {
			if _, err = h.add(r); err != nil {
				break
			}
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
