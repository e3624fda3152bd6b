package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestValid(t *testing.T) {
	parent, candidate := &variant{name: "baseline", key: "p"}, &variant{name: "port", key: "c"}
	launch := func(key string, change func(*ledger.Launch)) *ledger.Launch {
		l := &ledger.Launch{ID: "s." + key, VariantKey: key, OK: true}
		if change != nil {
			change(l)
		}
		return l
	}
	garbage := func(l *ledger.Launch) { l.Incoherent = []string{"chat request 0: one token over and over"} }
	for _, c := range []struct {
		name     string
		launches []*ledger.Launch
		want     verdict.Verdict
		says     string
	}{
		{"healthy", []*ledger.Launch{launch("p", nil), launch("c", nil)}, verdict.Pass, "launches an arm"},
		{"candidate emits garbage", []*ledger.Launch{launch("p", nil), launch("c", garbage)}, verdict.Invalid, "do not read as text"},
		{"both read alike", []*ledger.Launch{launch("p", garbage), launch("c", garbage)}, verdict.Pass, "launches an arm"},
		{"parent emits garbage", []*ledger.Launch{launch("p", garbage), launch("c", nil)}, verdict.Pass, "launches an arm"},
		{"cached prompts", []*ledger.Launch{launch("p", nil), launch("c", func(l *ledger.Launch) {
			l.Notes = []string{contaminated + ": 3 of 8 requests"}
		})}, verdict.Invalid, "cache"},
		{"short output is noted", []*ledger.Launch{launch("p", nil), launch("c", func(l *ledger.Launch) {
			l.Notes = []string{"2 of 8 answers were shorter"}
		})}, verdict.Pass, "shorter"},
	} {
		got, reasons := valid(c.launches, []*variant{parent, candidate}, 1)
		if got != c.want || !strings.Contains(strings.Join(reasons, "\n"), c.says) {
			t.Errorf("%s: %s %q, want %s saying %q", c.name, got, reasons, c.want, c.says)
		}
	}
}
