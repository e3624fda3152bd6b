package variant

import (
	"fmt"
	"maps"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
)

var profilePart = plans.Part{Schema: profileSchema, Times: plans.AtMost1}

var profileSchema = plans.Schema{
	Doc: "Overrides parts of the profile of the engine's kind. It is for a fork, a newer version or a server " +
		"without its own kind. Everything else stays the kind's.",
	Example: plans.Example(examples, `profile {`),
	Attrs:   plans.Attrs(Profile{}),
	Check: plans.Checked(func(_ *plans.Block, p Profile) (errs []plans.AttrError) {
		for attr, path := range sorted.All(map[string]string{
			"ready_path": p.ReadyPath, "metrics_path": p.MetricsPath,
			"tokenize_path": p.TokenizePath,
		}) {
			if path != "" && !strings.HasPrefix(path, "/") {
				errs = append(errs, plans.AttrError{
					Attr: attr, Code: "invalid-value", Summary: "Invalid " + attr,
					Detail: fmt.Sprintf("A page of the engine starts with a slash: write %[2]q instead of %[1]q.",
						path, "/"+path),
				})
			}
		}
		return errs
	}),
}

// Profile are the block's attributes by their names in the plan.
type Profile struct {
	ReadyPath    string            `hcl:"ready_path,optional" doc:"Page that answers 200 when the engine is ready. It replaces all of the kind's checks."`
	MetricsPath  string            `hcl:"metrics_path,optional" doc:"Page with Prometheus metrics."`
	Metrics      map[string]string `hcl:"metrics,optional" doc:"More metrics, by mxflow's name: '{ running = \"my:requests\" }'."`
	TokenizePath string            `hcl:"tokenize_path,optional" doc:"Page that counts the tokens of a text. It gets '{\"prompt\": …}' and answers '{\"count\": …}'."`
	IgnoreEOS    *bool             `hcl:"ignore_eos,optional" doc:"Whether requests can ask to ignore the end of text."`
}

// changedKind is the kind with the plan's changes to it, and whether there are any.
func changedKind(e *plans.Engine, k kinds.Kind) (kinds.Kind, bool, error) {
	blocks := e.Parts["profile"]
	if len(blocks) == 0 {
		return k, false, nil
	}
	var p Profile
	if err := blocks[0].Decode(&p); err != nil {
		return k, false, fmt.Errorf("the profile of engine %s.%s: %w", e.Kind, e.Name, err)
	}
	return p.Extend(k), true, nil
}

// EngineKind is the kind of an engine with the plan's changes to it.
func EngineKind(e *plans.Engine) kinds.Kind {
	k, ok := kinds.Lookup(e.Kind)
	if changed, _, err := changedKind(e, k); ok && err == nil {
		return changed
	}
	return k
}

// Extend is k with the plan's changes. k itself, shared by all engines of the kind, is not
// modified.
func (p Profile) Extend(k kinds.Kind) kinds.Kind {
	if p.ReadyPath != "" {
		k.Ready = []kinds.Probe{{Path: p.ReadyPath}}
	}
	if p.MetricsPath != "" {
		k.Metrics.Path = p.MetricsPath
	}
	if p.TokenizePath != "" {
		k.Tokenize = kinds.Tokenize{Path: p.TokenizePath, Field: "prompt", Count: ".count"}
	}
	names := maps.Clone(k.Metrics.Names)
	for name, theirs := range p.Metrics {
		if names == nil {
			names = map[string][]string{}
		}
		names[name] = append([]string{theirs}, names[name]...)
	}
	k.Metrics.Names = names
	if p.IgnoreEOS != nil {
		k.Ask.IgnoreEOS = *p.IgnoreEOS
	}
	return k
}
