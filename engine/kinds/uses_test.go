package kinds_test

import (
	"testing"

	"github.com/mxflow/mxflow/engine/kinds"
)

// Every kind that takes a draft model has an observation that shows whether it drafted.
func TestDraftModelsShowTheirUse(t *testing.T) {
	for _, k := range kinds.All() {
		s := k.Settings
		for i := range s {
			if s[i].Name != "speculative" {
				continue
			}
			uses := k.Uses(map[string]any{"speculative": map[string]any{"method": "draft_model", "model": "small"}}, false)
			if len(uses) != 1 || uses[0].Setting != "speculative.model" {
				t.Errorf("%s: %v", k.Name, uses)
				continue
			}
			shown := false
			for _, p := range k.Patterns(nil) {
				shown = shown || p.Name == uses[0].Observed
			}
			if !shown {
				t.Errorf("%s: nothing is observed as %s", k.Name, uses[0].Observed)
			}
			if uses := k.Uses(map[string]any{"speculative": map[string]any{"method": "ngram"}}, false); len(uses) != 0 {
				t.Errorf("%s: a method without a model may draft nothing, but %v", k.Name, uses)
			}
		}
	}
}
