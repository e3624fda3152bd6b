package load

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

var watchDoc = block(plans.Watch{}, lang.BlockDoc{
	Type: "watch", Times: plans.AtMost1,
	Doc: "What must not get worse from night to night, for [`mxflow watch`](watch.md). Without a criterion: decode " +
		"and prefill at most 3% slower in each cell, and at most 3% more time to the first token. It is not part of " +
		"any digest.",
	Blocks: []*lang.BlockDoc{watchCriterionDoc},
})

var watchCriterionDoc = block(plans.Rule{}, lang.BlockDoc{
	Type: "criterion", Times: plans.AnyTimes,
	Doc: "What must not get worse, against last good and the anchor alike.",
})

func (l *loader) decodeWatch(blocks hcl.Blocks) {
	b := l.Single(blocks)
	if b == nil {
		return
	}
	w := &plans.Watch{Range: lang.RangeOf(b.DefRange)}
	f := l.Read(l.expanded(b), watchDoc, w)
	w.Criteria = decodeRules(f.Blocks, l.Scope, watchCriterionDoc)
	l.plan.Watch = w
}
