package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/steps/variant"
)

// changers are words in flags that make an engine serve another model than its config
// describes, or use other machines' GPUs too.
var changers = []string{"override", "nnodes", "node-rank", "num-nodes"}

// limitBy determines what limits a launch. If unknown, its metadata say why, and so does
// a note if the plan itself names the config.
func limitBy(v *variant.Variant, st *Started, doc *machine.Document) *limit.Basis {
	basis, err := basisOf(v, doc)
	if err == nil {
		return basis
	}
	doc.Lack("limit", err.Error())
	if v.ModelConfig != nil {
		st.Record.Notes = append(st.Record.Notes, verdict.Say("work.limit_unknown",
			"the machine's limits are unknown: {error}",
			verdict.Line(err)))
	}
	return nil
}

func basisOf(v *variant.Variant, doc *machine.Document) (*limit.Basis, error) {
	basis := &limit.Basis{GPUs: map[string]string{}}
	for _, g := range doc.GPUs {
		if !g.Used {
			continue
		}
		if mode := g.Values["mig.mode.current"]; mode == "Enabled" {
			return nil, fmt.Errorf("GPU %s is divided (MIG)", g.UUID)
		}
		if _, err := limit.Of([]string{g.Name}); err != nil {
			return nil, err
		}
		basis.GPUs[g.UUID] = g.Name
	}
	if len(basis.GPUs) == 0 {
		return nil, errors.New("it uses no known GPU")
	}
	for _, arg := range append(slices.Clone(v.Spec.Command), string(v.Spec.Config)) {
		for _, word := range changers {
			if strings.Contains(strings.ReplaceAll(arg, "_", "-"), word) {
				return nil,
					fmt.Errorf("its command has %q, so it may serve another model, or run on other machines", word)
			}
		}
	}
	var text []byte
	switch {
	case v.ModelConfig != nil:
		text, basis.Source = v.ModelConfig, v.ModelConfigAt
	case doc.Model != nil && doc.Model.Config != nil:
		text, basis.Source = doc.Model.Config, doc.Model.Path
	default:
		return nil, errors.New("found no config.json of its model; name it as model_config in the metadata block")
	}
	var err error
	basis.Model, err = limit.Read(text)
	return basis, err
}
