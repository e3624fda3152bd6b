package profiling

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine/trace/symbol"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/variant"
)

// Config is the level `profile` as a plan has it.
type Config struct {
	PromptTokens int       `hcl:"prompt_tokens,optional" default:"512" unit:"tokens" min:"8" max:"20000000" doc:"Length of prompts, and the context for decoding."`
	Steps        int       `hcl:"steps,optional" default:"32" unit:"steps" min:"4" max:"4096" doc:"Tokens of each answer decoded while the profiler runs. Traces grow with it: about 100 kB per step of a large model."`
	Concurrency  []int     `hcl:"concurrency,optional" default:"[1]" unit:"requests" min:"1" max:"1024" filled:"true" unique:"true" doc:"Requests served at once. Each value gets a profile of decoding and one of prefill. Numbers of the first are 'levels.profile.moe_us', those of another 'levels.profile.moe_us_c8'."`
	Timeout      plans.Dur `hcl:"timeout,optional" default:"10m" doc:"Time limit of each request. The profiler's writing of its files has the same."`

	// categories are the plan's own, which precede the built-in ones.
	categories symbol.Rules
}

func Of(b *plans.Block) (*Config, error) {
	c := &Config{}
	if err := b.Decode(c); err != nil {
		return nil, err
	}
	for _, part := range b.Parts["category"] {
		globs, _ := part.Attrs["any_of"].([]any)
		for _, glob := range globs {
			if text, ok := glob.(string); ok {
				c.categories = append(c.categories, symbol.Rule{Glob: text, Category: part.Name})
			}
		}
	}
	return c, nil
}

var categoryPart = plans.Part{
	Times: plans.AnyTimes,
	Label: "The category: one that tables have (" + strings.Join(symbol.Categories, ", ") + "), or one of your own.",
	Schema: plans.Schema{
		Doc: "Puts kernels into a category, overriding the built-in names. The first matching block counts.",
		Example: `category "moe" {
  any_of = ["*my_grouped_gemm*"]
}`,
		Attrs: []plans.Attr{
			{
				Name: "any_of", Type: plans.Strings, Required: true,
				Doc: "Globs of whole kernel names. They are unanchored and case-insensitive; `*` matches anything.",
			},
		},
	},
}

var Schema = plans.Schema{
	Asks: true,
	Doc: "Profiles decoding and prefill: where the time of a token goes. It passes if the profiles hold kernels, " +
		"among them those that `must_see { trace = … }` of the knobs requires. It runs last in the qualification " +
		"launch, which is never measured and is the only one started with the profiler; `mxflow profile` shows the " +
		"tables. " +
		"A trace is evidence for that launch, not for the measured ones: if the engine logs its kernels, use the log " +
		"as well.",
	Example: `level "profile" {
  prompt_tokens = 512
  steps         = 32
  concurrency   = [1, 8]
}`,
	Attrs: plans.Attrs(Config{}),
	Parts: map[string]plans.Part{"category": categoryPart},
	Fits: func(_ *plans.Block, e *plans.Engine) []plans.AttrError {
		p, err := variant.ProfilerOf(e)
		if err != nil {
			return nil // which is reported elsewhere
		}
		name := "engine." + e.Kind + "." + e.Name
		refuse := func(detail string, args ...any) []plans.AttrError {
			return []plans.AttrError{{
				Code: "not-given-by-engine", Summary: "No profile of that engine",
				Detail: fmt.Sprintf(detail, args...),
			}}
		}
		how := "process"
		if e.Launch != nil {
			how = e.Launch.Kind
		}
		switch {
		case !p.Any():
			return refuse(
				`%s is of kind %q, which takes no profile of itself. Add ‹profiler { wrap = ["nsys", "profile", "-o", "{profile}/engine"] }› to it, or remove the level.`, name, e.Kind)
		case how == "endpoint":
			return refuse("%s is an endpoint, where its profiler's files cannot be found. Launch it as a process or "+
				"in a container, or remove the level.", name)
		case how != "process" && len(p.Wrap) > 0:
			return refuse("%s runs in a container, where wrap does not reach. Write the profiler into the "+
				"container's entrypoint, or remove the level.", name)
		}
		return nil
	},
	Finds: func(b *plans.Block) []plans.LevelResult {
		c, err := Of(b)
		if err != nil {
			return nil
		}
		return c.finds()
	},
	Longest: func(b *plans.Block) int {
		c, err := Of(b)
		if err != nil {
			return 0
		}
		return c.PromptTokens + settling + 2*c.Steps
	},
}
