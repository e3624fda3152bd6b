package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestProofs: a proof says whether the parent had the line or the kernel too, and that nobody can tell where
// its log or profile is not on record or hides kernels.
func TestProofs(t *testing.T) {
	profile := func(hidden int, kernels ...string) string {
		a := trace.Analysis{Format: trace.Format, Files: []trace.File{{Hidden: hidden}}, Parts: []trace.Part{{}}}
		for _, k := range kernels {
			a.Parts[0].Kernels = append(a.Parts[0].Kernels, trace.Kernel{Name: k})
		}
		return string(must.Get(json.Marshal(a))(t))
	}
	line, kernel := []verdict.Arg{verdict.Text("line", "using routed"), verdict.Int("line_no", 7)},
		[]verdict.Arg{verdict.Text("kernel", "moe_routed"), verdict.Int("launches", 3)}
	for name, c := range map[string]struct {
		proof        []verdict.Arg
		log, profile string
		want         string
	}{
		"a line that it lacks": {line, "using all\n", "", "its parent's log (launch q-base) has no such line"},
		"a line that it has":   {line, "a\nusing routed\n", "", "so is a line of its parent's log (launch q-base)"},
		"no log":               {line, "", "", "whether its parent's log has such a line is not on record"},
		"a kernel that it lacks": {
			kernel, "", profile(0, "moe_all"), "its parent's profile (launch q-base) has no such kernel",
		},
		"a kernel that it has": {
			kernel, "", profile(2, "moe_all", "my_using_routed_v2"),
			"so is a kernel of its parent's profile (launch q-base)",
		},
		"hidden kernels": {
			kernel, "", profile(2, "moe_all"), "whether its parent's profile has such a kernel is not on record",
		},
		"no profile": {
			kernel, "using routed", "", "whether its parent's profile has such a kernel is not on record",
		},
	} {
		s := begun(t)
		base := &ledger.Launch{
			ID: "q-base", Purpose: ledger.ForQualification, Variant: "baseline", Knobs: set(), Started: s.at, OK: true,
			Left: map[string]string{},
		}
		if c.log != "" {
			base.Log = must.Get(s.st.Put([]byte(c.log)))(t)
		}
		if c.profile != "" {
			base.Left["profile/analysis.json"] = must.Get(s.st.Put([]byte(c.profile)))(t)
		}
		s.add(&ledger.Record{Type: "launch", Run: "r1", Launch: base})
		parent := gates.ArmOf("baseline")
		parent.Qualified.ID = base.ID
		lines := verdict.Lines(Proofs(s.st, &ledger.Decision{
			Node: "feature.moe", Kind: ledger.KindFeature, Feature: "moe", Verdict: verdict.Pass,
			Evidence: []gates.Feature{{Name: "moe", Parent: parent, Candidate: gates.ArmOf("moe")}},
			Levels: []ledger.Level{{
				Name: "kernels", Verdict: verdict.Pass, Launch: "q-own",
				Reasons: []verdict.Reason{verdict.Say("seen", "{subject} = {value}", append(c.proof,
					verdict.Text("value", "routed"), verdict.Text("glob", "using*routed"))...).On("moe")},
			}},
		}))
		if len(lines) != 1 || !strings.HasSuffix(lines[0], "; "+c.want) {
			t.Errorf("%s: %q, want %q", name, lines, c.want)
		}
	}
}
