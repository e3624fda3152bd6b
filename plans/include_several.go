package plans

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
)

// whole are blocks of which a plan has one: a file with one is a plan by itself.
var whole = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "plan", LabelNames: []string{"name"}}, {Type: "baseline"}}}

// severalPlans refuses a folder with more than one plan in it: merged, all that
// they share would be a duplicate.
func (l *loader) severalPlans(folder string) {
	holds := map[string][]string{}
	var second *hcl.Range
	for _, name := range l.order {
		s := l.sources[name]
		if s.body == nil || s.from != nil {
			continue
		}
		content, _, _ := s.body.PartialContent(whole)
		for kind, blocks := range content.Blocks.ByType() {
			holds[kind] = append(holds[kind], filepath.Base(name))
			if len(holds[kind]) == 2 && (second == nil || kind == "plan") {
				second = &blocks[0].DefRange
			}
		}
	}
	for _, kind := range []string{"plan", "baseline"} {
		if names := holds[kind]; len(names) > 1 {
			l.unreadable = true
			l.fail(*second, "Several plans in a folder", "%s of %q each have a %s block, so there is more than one plan here. Name the one that you mean: %s.",
				verdict.And(names), folder, kind, fmt.Sprintf("%s or %s", filepath.Join(folder, names[0]), filepath.Join(folder, names[1])))
			return
		}
	}
}
