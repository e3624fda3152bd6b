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
				return nil, fmt.Errorf("its command has %q, so it may serve another model, or run on other machines", word)
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
		return nil, errors.New("found no config.json of its model; set metadata { model_config = \"config.json\" }")
	}
	var err error
	basis.Model, err = limit.Read(text)
	return basis, err
}

// cacheSlack is how far the KV cache that an engine reports may differ from the model's
// config: blocks are not always full.
const cacheSlack = 1.25

// implausible notes if the KV cache that the engine reports contradicts the model's
// config: bytes per token, on one GPU.
func (st *Started) implausible() {
	if st.Limit == nil || st.Limit.Model == nil || len(st.Limit.GPUs) != 1 {
		return
	}
	gb, sized := st.Record.Observed["kv_memory_gb"].Value.(float64)
	tokens, counted := st.Record.Observed["kv_capacity_tokens"].Value.(float64)
	if !sized || !counted || !(gb > 0) || !(tokens > 0) {
		return
	}
	token := gb * 1e9 / tokens
	least, most := st.Limit.Model.CacheOfToken()
	if token <= most*cacheSlack && token >= least/cacheSlack {
		return
	}
	st.Record.Notes = append(st.Record.Notes, verdict.Say("work.cache_implausible",
		"a token of its KV cache takes {bytes} by its own figures, and {least} to {most} by the model's config: "+
			"another model, another format, or a figure that is wrong",
		verdict.Num("bytes", token, "bytes"), verdict.Num("least", least, "bytes"), verdict.Num("most", most, "bytes")))
}
