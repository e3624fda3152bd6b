package steps

import (
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans/redact"
)

// redactSamples keeps sensitive values that an engine repeats out of the raw
// samples.
func redactSamples(all []measure.Sample, r *redact.Redactor) {
	if !r.Active() {
		return
	}
	for i := range all {
		s := &all[i]
		for _, text := range []*string{&s.Text, &s.Reasoning, &s.Tools, &s.Doubts, &s.Err} {
			*text = r.Text(*text)
		}
	}
}
