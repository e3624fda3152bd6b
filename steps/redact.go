package steps

import "github.com/mxflow/mxflow/engine/measure"

// redactSamples keeps sensitive values that an engine repeats out of the raw
// samples.
func (st *started) redactSamples(all []measure.Sample) {
	r := st.lab.Redact
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
