package coherence

import "github.com/mxflow/mxflow/engine/measure"

// Incoherent is Coherent for all measured answers: of each that does not read as
// text, which request it is of, what is wrong with it and how it begins. It is
// for answers that end by themselves; Relative is for those that are forced on.
func Incoherent(samples []measure.Sample) (found []Finding) {
	measured(samples, func(s measure.Sample) {
		text := generatedText(s)
		if ok, why := Coherent(text); !ok {
			found = append(found, Finding{Code: Garbage, Cell: s.Workload, Request: Request{s.Index, s.Turn}, Sign: why, Excerpt: excerpt(text)})
		}
	})
	return found
}

// measured calls use for every sample that was answered and is neither a warm-up
// nor a context that was only cached.
func measured(samples []measure.Sample, use func(measure.Sample)) {
	for _, s := range samples {
		if s.Measured() && s.Err == "" {
			use(s)
		}
	}
}

// generatedText is all that an engine generated for a request.
func generatedText(s measure.Sample) string { return s.Reasoning + s.Text + s.Tools }
