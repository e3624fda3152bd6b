package decide

import (
	"fmt"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestLastAcceptedIn(t *testing.T) {
	n := 0
	launch := func(variant, key, block string) (*ledger.Record, string) {
		n++
		l := &ledger.Launch{ID: fmt.Sprint(n), Variant: variant, VariantKey: key, Block: block, Knobs: map[string]string{"k": variant}}
		return &ledger.Record{Launch: l}, l.ID
	}
	baseline := func(key string) []*ledger.Record {
		l, id := launch(ledger.Baseline, key, "openai.x")
		return []*ledger.Record{l, {Decision: &ledger.Decision{Node: "baseline", Verdict: verdict.Pass, Launches: []string{id}}}}
	}
	decided := func(name, key, block string, accepted bool) []*ledger.Record {
		l, id := launch(name, key, block)
		return []*ledger.Record{l, {Decision: &ledger.Decision{
			Node: "feature." + name, Kind: ledger.KindFeature, Feature: name, Accepted: accepted, Variant: map[string]string{"k": name},
			Evidence: []ledger.Evidence{{Feature: name, Candidate: ledger.Arm{Launches: []string{id}}}},
		}}}
	}
	retracted := []*ledger.Record{{Decision: &ledger.Decision{Node: "feature.a", Kind: ledger.KindFeature, Retraction: &ledger.Retraction{}}}}
	for name, c := range map[string]struct {
		records [][]*ledger.Record
		want    string
	}{
		"nothing":                {nil, ""},
		"with this baseline":     {[][]*ledger.Record{baseline("now"), decided("a", "a-now", "openai.x", true)}, ""},
		"before it":              {[][]*ledger.Record{baseline("old"), decided("a", "a-old", "openai.x", true), baseline("now"), decided("a", "a-now", "openai.x", true)}, "a-old"},
		"the last of several":    {[][]*ledger.Record{baseline("old"), decided("a", "a-old", "openai.x", true), decided("b", "b-old", "openai.x", true), baseline("now")}, "b-old"},
		"failed in between":      {[][]*ledger.Record{baseline("old"), decided("a", "a-old", "openai.x", true), baseline("worse"), decided("a", "a-worse", "openai.x", false), baseline("now")}, "a-old"},
		"decided again":          {[][]*ledger.Record{baseline("old"), decided("a", "a-old", "openai.x", true), decided("a", "a-old", "openai.x", false), baseline("now")}, ""},
		"retracted":              {[][]*ledger.Record{baseline("old"), decided("a", "a-old", "openai.x", true), baseline("now"), retracted}, ""},
		"on another engine":      {[][]*ledger.Record{baseline("old"), decided("a", "a-old", "openai.y", true), baseline("now")}, ""},
		"without a known parent": {[][]*ledger.Record{decided("a", "a-old", "openai.x", true), baseline("now")}, ""},
	} {
		var records ledgerOf
		for _, r := range c.records {
			records = append(records, r...)
		}
		got := ""
		if a := LastAcceptedIn(records.records(), "openai.x", "now"); a != nil {
			got = a.Launches[0].VariantKey
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
