package plans

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure"
)

// checkMember looks at what stands behind a reference to a block, which has a
// name and nothing else that is known before it is measured.
func (l *evalScope) checkMember(t hcl.Traversal, i int) bool {
	name, static := stepName(t, i)
	if !static || name == "name" || name == "type" || name == "block" {
		return true
	}
	if doc := l.language(t.RootName()); doc == nil || doc.Attr(name) == nil {
		for j := i; j < len(t); j++ {
			if word, static := stepName(t, j); static && measured(word) {
				l.measured(t, word)
				return false
			}
		}
	}
	at := t.SourceRange()
	l.fail(at, "A reference has no attributes", "A reference says which block is meant, it does not lead to what is in it: there is no %q to be read here. Put the value into a local or variable, and use that in both places.", name)
	return false
}

// planBlock describes the blocks that a root of references names.
func planBlock(root string) *BlockDoc {
	if root == "feature" {
		return featureDoc
	}
	return fileDoc.Block(root)
}

func (l *evalScope) measured(t hcl.Traversal, name string) {
	l.fail(t.SourceRange(), "Only known after measuring", "%q is measured, or decided, when the plan runs; expressions are evaluated before that. Write it in a rule, as in rule = \"chat.tg.gain >= 0.1\".", name)
}

// measuredWords are what addresses in rules are made of, besides metrics.
var measuredWords = wordSet("gain change delta base root verdict accepted decided levels mean median p50 p90 p95 p99 min max std cv n n_requests gpu quality kernels stats")

func measured(name string) bool {
	if measuredWords[name] {
		return true
	}
	_, metric := measure.Lookup(name)
	return metric
}
