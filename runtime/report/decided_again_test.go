package report

import (
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// again decides a feature over some launches by a rule, with the usual settings
// unless they are changed.
func (s *story) again(own, base []string, expr string, change ...func(*ledger.Decision)) store.Decided {
	s.t.Helper()
	s.feature("cache", true, set("cache=on"), "baseline", base, own, 0.1, 0.05, append([]func(*ledger.Decision){func(d *ledger.Decision) {
		d.Rules[0].Expr = expr
		d.Statistics = &ledger.Statistics{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 8}
	}}, change...)...)
	history := s.st.History("feature.cache")
	return history[len(history)-1]
}

func TestMoved(t *testing.T) {
	const at5, at2 = "chat.tg.gain >= 0.05", "chat.tg.gain >= 0.02"
	asBefore := func(*ledger.Decision) {}
	for name, c := range map[string]struct {
		first, second string
		change        func(*ledger.Decision)
		want          string
	}{
		"the same":            {at5, at5, asBefore, ""},
		"another threshold":   {at5, at2, asBefore, `"decode" was chat.tg.gain >= 0.05, now chat.tg.gain >= 0.02`},
		"more false passes":   {at5, at5, func(d *ledger.Decision) { d.Statistics.FalsePass = 0.05 }, "false_pass was 0.01, now 0.05"},
		"more false fails":    {at5, at5, func(d *ledger.Decision) { d.Statistics.FalseFail = 0.1 }, "false_fail was 0.05, now 0.1"},
		"another first look":  {at5, at5, func(d *ledger.Decision) { d.Statistics.Min = 6 }, "the first look was at 3 launches per arm, now at 6"},
		"fewer alternatives":  {at5, at5, func(d *ledger.Decision) { d.Statistics.Alternatives = 4 }, "it was one of 1 alternatives, now one of 4"},
		"more, as is allowed": {at5, at5, func(d *ledger.Decision) { d.Evidence[0].Max = 6 }, ""},
		"many more":           {at5, at5, func(d *ledger.Decision) { d.Evidence[0].Max = 12 }, "the limit was 8 launches per arm, now 12"},
		"another criterion": {
			at5, at5, func(d *ledger.Decision) { d.Rules[0].Name = "other" },
			`"decode" (chat.tg.gain >= 0.05) no longer decides; "other" (chat.tg.gain >= 0.05) is new`,
		},
		"one that decides no more": {at5, at5, func(d *ledger.Decision) { d.Rules[0].Decides = false }, `"decode" (chat.tg.gain >= 0.05) no longer decides`},
		"another number of a target": {
			at5, at5, func(d *ledger.Decision) { d.Rules[0].Comparisons[0].Test = &verdict.Test{Threshold: 30} },
			`threshold of "decode" (chat.tg.gain >= 0.05) was 0, now 30`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.begin("r1")
			base, own := s.launches("s-1", "baseline", set(), 20, 21), s.launches("s-1", "cache", set("cache=on"), 30, 31)
			s.again(own[:1], base[:1], c.first)
			moved := store.Moved(s.st.History("feature.cache"), s.again(own, base, c.second, c.change))
			if c.want == "" && len(moved) > 0 || c.want != "" && (len(moved) != 1 || tell.Joined(moved[0].Causes) != c.want || moved[0].Code != code.Moved || *moved[0].Args["attempt"].Number != 1) {
				t.Errorf("says %q, want %q", tell.Lines(moved), c.want)
			}
		})
	}
}

// Rules that stood before the launches are not moved by others that were tried in
// between, nor by what was decided of other launches.
func TestMovedBack(t *testing.T) {
	s := newStory(t)
	s.begin("r1")
	base, own := s.launches("s-1", "baseline", set(), 20, 21), s.launches("s-1", "cache", set("cache=on"), 30, 31)
	s.again(own, base, "chat.tg.gain >= 0.05")
	s.again(own, base, "chat.tg.gain >= 0.02")
	if moved := store.Moved(s.st.History("feature.cache"), s.again(own, base, "chat.tg.gain >= 0.05")); len(moved) > 0 {
		t.Errorf("moved back: %q", tell.Lines(moved))
	}
	base, own = s.launches("s-2", "baseline", set(), 20, 21), s.launches("s-2", "cache", set("cache=on"), 30, 31)
	if moved := store.Moved(s.st.History("feature.cache"), s.again(own, base, "chat.tg.gain >= 0.02")); len(moved) > 0 {
		t.Errorf("other launches: %q", tell.Lines(moved))
	}
}
