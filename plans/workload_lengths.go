package plans

import (
	"math"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Lengths draws a number of tokens for each request.
type Lengths struct {
	// Distribution is "uniform" (Min to Max), "normal", "lognormal" (Mean and Std
	// of the length itself, kept within Min and Max).
	Distribution string
	Min, Max     int
	Mean, Std    float64
}

// maxTokens is the longest prompt that the client makes (engine/load/prompt:
// mostInOne), a bound that no engine of this decade reaches, and that keeps
// every product of bounds within an int.
const maxTokens = 20_000_000

var lengthAttrs = []Attr{
	{Name: "prompt_tokens", Type: Ints, Unit: "tokens", Min: 1, MinSet: true, Max: maxTokens, Doc: "Length of each prompt, or several lengths. Required, unless `prompt_lengths` or `dataset` stands in its place."},
	{Name: "output_tokens", Type: Ints, Unit: "tokens", Min: 1, MinSet: true, Max: maxTokens, Doc: "Length of each answer, or several lengths. Required, unless `output_lengths` stands in its place; with a `dataset`, the length where a line gives none."},
	{Name: "depth", Type: Ints, Default: 0.0, Unit: "tokens", MinSet: true, Max: maxTokens, Doc: "Context before each prompt, or several lengths. It is not counted as prompt."},
	{Name: "depth_cached", Type: Bool, Default: false, Doc: "Send the context alone first, so that the engine has it in its prefix cache and only the prompt is computed."},
	{Name: "count_template", Type: Bool, Default: true, Doc: "Prompt lengths include the tokens that a chat template adds."},
}

var (
	promptLengthsDoc = lengthsDoc("prompt_lengths", "Draws the length of each prompt, in place of `prompt_tokens`.")
	outputLengthsDoc = lengthsDoc("output_lengths", "Draws the length of each answer, in place of `output_tokens`.")
)

func lengthsDoc(word, doc string) *BlockDoc {
	return &BlockDoc{
		Type: word, Times: AtMost1, Doc: doc + " All arms get the same lengths.",
		Attrs: []Attr{
			{Name: "distribution", Type: String, Required: true, OneOf: []string{"uniform", "normal", "lognormal"}, Doc: "Uniform is any length from `min` to `max`; the others have a `mean` and an `std`."},
			{Name: "min", Type: Int, Unit: "tokens", Min: 1, MinSet: true, Max: maxTokens, Doc: "The least length. Uniform needs it; without it, 1."},
			{Name: "max", Type: Int, Unit: "tokens", Min: 1, MinSet: true, Max: maxTokens, Doc: "The greatest length. Uniform needs it; without it, four times `std` above `mean`."},
			{Name: "mean", Type: Number, Unit: "tokens", Min: 1, MinSet: true, Max: maxTokens, Doc: "Mean of the lengths, of normal and lognormal."},
			{Name: "std", Type: Number, Unit: "tokens", MinSet: true, Max: maxTokens, Doc: "Their standard deviation; of lognormal too it is that of the lengths, not of their logarithms."},
		},
		Example: word + ` {
  distribution = "lognormal"
  mean         = 512
  std          = 300
  max          = 4096
}`,
	}
}

var lengthsSchema = promptLengthsDoc.schema()

func (w *Workload) decodeLengths(f *body) {
	w.PromptTokens, w.PromptList = f.wholes("prompt_tokens", 1, maxTokens)
	w.OutputTokens, w.OutputList = f.wholes("output_tokens", 1, maxTokens)
	w.PromptLengths, w.OutputLengths = f.lengths("prompt_lengths"), f.lengths("output_lengths")
	w.Depth, w.DepthList = f.wholes("depth", 0, maxTokens)
	if len(w.Depth) == 0 {
		w.Depth, w.DepthList = []int{0}, false
	}
	w.DepthCached = f.truth("depth_cached", false)
	w.CountTemplate = f.truth("count_template", true)
	f.oneLength("prompt_tokens", "prompt_lengths", "how many tokens each prompt has, such as 2048.", w.Data != nil)
	f.oneLength("output_tokens", "output_lengths", "how many tokens are generated for each request, such as 32.", w.Data != nil)
	if at := f.given("prompt_tokens", "prompt_lengths"); w.Data != nil && at != "" {
		f.l.fail(f.where(at), "Two ways to say the same", "The prompts of a dataset are as long as they are. Remove %s, or the dataset.", at)
	}
}

// oneLength checks that a length is given in exactly one way.
func (f *body) oneLength(tokens, lengths, why string, optional bool) {
	drawn := len(f.blocks.OfType(lengths)) > 0
	switch {
	case drawn && !f.absent(tokens):
		f.l.fail(f.at(tokens), "Two ways to say the same", "%s has %s and %s. Keep one of them.", f.what, tokens, lengths)
	case !drawn && !optional:
		f.required(tokens, why)
	}
}

func (f *body) lengths(word string) *Lengths {
	b := f.single(word)
	if b == nil {
		return nil
	}
	in := f.l.fields(b, lengthsSchema, word)
	before := len(f.l.diags)
	in.required("distribution", `one of "uniform", "normal" and "lognormal".`)
	n := &Lengths{Distribution: "uniform", Min: in.whole("min", 1, 1, maxTokens), Max: in.whole("max", 0, 1, maxTokens)}
	n.Mean, n.Std = in.number("mean", 0, 1, maxTokens), in.number("std", 0, 0, maxTokens)
	if !in.absent("distribution") {
		n.Distribution = in.oneOf("distribution", "uniform", "uniform", "normal", "lognormal")
	}
	if len(f.l.diags) > before {
		n.Max = max(n.Min, n.Max)
		return n
	}
	needs, unused := []string{"mean", "std"}, []string(nil)
	if n.Distribution == "uniform" {
		needs, unused = []string{"min", "max"}, []string{"mean", "std"}
	}
	for _, name := range needs {
		in.required(name, "a "+n.Distribution+" distribution has "+verdict.And(needs)+".")
	}
	for _, name := range unused {
		if !in.absent(name) {
			f.l.fail(in.at(name), "Attribute of another distribution", "A uniform distribution has min and max, and no %s. Remove it, or choose normal or lognormal.", name)
		}
	}
	if n.Max == 0 {
		n.Max = max(n.Min, int(min(maxTokens, math.Ceil(n.Mean+4*n.Std))))
	}
	n.checkLengths(in)
	return n
}

func (n *Lengths) checkLengths(in *body) {
	switch {
	case n.Min > n.Max:
		in.l.fail(in.at("min"), "Lengths contradict each other", "No length is at least %d and at most %d. Exchange min and max, or correct one.", n.Min, n.Max)
	case n.Distribution != "uniform" && n.Mean > 0 && (n.Mean < float64(n.Min) || n.Mean > float64(n.Max)):
		in.l.fail(in.at("mean"), "Lengths contradict each other", "The mean, %g, is not between min, %d, and max, %d. Correct one of them.", n.Mean, n.Min, n.Max)
	}
}

// given is the first attribute or block of these that is written; empty for none.
func (f *body) given(names ...string) string {
	for _, name := range names {
		if !f.absent(name) || len(f.blocks.OfType(name)) > 0 {
			return name
		}
	}
	return ""
}

// where is where an attribute or block is written.
func (f *body) where(name string) hcl.Range {
	if blocks := f.blocks.OfType(name); len(blocks) > 0 {
		return blocks[0].DefRange
	}
	return f.at(name)
}
