package load

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

var baselineDoc = block(plans.Baseline{}, lang.BlockDoc{
	Type: "baseline", Times: plans.AtMost1,
	Doc: "The variant that everything is compared with. It is an engine with every knob at its default, or as in " +
		"`set`. It is qualified before anything is measured; if it does not pass, nothing is measured against it. A " +
		"plan with features needs one.",
})

func (l *loader) decodeBaseline(blocks hcl.Blocks) {
	b := l.Single(blocks)
	if b == nil {
		l.protocolsInDoubt = true
		return
	}
	base := &plans.Baseline{}
	f := l.Read(b, baselineDoc, base)
	l.protocolsInDoubt = l.protocolsInDoubt || base.Protocol == ""
	base.Set, _ = l.decodeSet(f)
	words := append([]string{plans.AcceptAll, plans.AcceptRepos}, plans.FingerprintEntries...)
	for _, word := range base.AcceptFingerprint {
		if tree, ok := strings.CutPrefix(word, "repo."); !slices.Contains(words, word) && (!ok || tree == "") {
			l.Fail(f.At("accept_fingerprint"), "unknown-fingerprint-entry", "Unknown fingerprint entry",
				"There is no fingerprint entry %q.%s Source trees are named repo.<name>.", word,
				l.DidYouMean(word, words))
		}
	}
	l.plan.Baseline = base
}
