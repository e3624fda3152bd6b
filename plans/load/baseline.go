package load

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var baselineDoc = &lang.BlockDoc{
	Type: "baseline", Times: plans.AtMost1,
	Doc: "The variant that everything is compared with: an engine with every knob at its default, or as in `set`. It is qualified before anything is measured; if it does not pass, nothing is measured against it. A plan with features needs one.",
	Attrs: []plans.Attr{
		{Name: "engine", Type: plans.Reference, Ref: "engine", Required: true, Doc: "The engine under test."},
		{Name: "protocol", Type: plans.Reference, Ref: "protocol", Required: true, Doc: "The levels for it, and for features that name no protocol."},
		{Name: "set", Type: plans.Choices, Doc: "Knobs that are not at their default."},
		{Name: "accept_fingerprint", Type: plans.Strings, Doc: "Fingerprint entries that can differ between compared launches, and whose change needs no new measurement: such as `kernel`, `driver`, `packages` or `repo.vllm`; `repo.*` is all source trees, `all` everything."},
	},
	Example: `baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
  set      = { moe_kernel = "marlin" }
}`,
}

func (l *loader) decodeBaseline(blocks hcl.Blocks) {
	b := l.Single(blocks)
	if b == nil {
		l.protocolsInDoubt = true
		return
	}
	f := l.Fields(b, baselineDoc)
	f.Required("engine", "the engine under test, such as engine.kind.name.")
	f.Required("protocol", "the tests for it, such as protocol.name.")
	base := &plans.Baseline{Range: lang.RangeOf(b.DefRange)}
	if r := f.Ref("engine", "engine"); r != nil {
		base.Engine = r.Key
	}
	if r := f.Ref("protocol", "protocol"); r != nil {
		base.Protocol = r.Key
	} else {
		l.protocolsInDoubt = true
	}
	base.Set, _ = l.decodeSet(f)
	base.AcceptFingerprint = decodeEntries(f)
	l.plan.Baseline = base
}

// decodeEntries reads the entries of a fingerprint that may differ.
func decodeEntries(f *eval.Body) (accepted []string) {
	words := append([]string{plans.AcceptAll, plans.AcceptRepos}, plans.FingerprintEntries...)
	for _, word := range f.Texts("accept_fingerprint") {
		if tree, ok := strings.CutPrefix(word, "repo."); !slices.Contains(words, word) && (!ok || tree == "") {
			f.Scope.Fail(f.At("accept_fingerprint"), "unknown-fingerprint-entry", "Unknown fingerprint entry",
				"There is no fingerprint entry %q.%s Source trees are named repo.<name>.", word, f.Scope.DidYouMean(word, words))
			continue
		}
		accepted = append(accepted, word)
	}
	return accepted
}
