package plans

import "math"

var samplingAttrs = []Attr{
	{Name: "temperature", Type: Number, Default: 0.0, MinSet: true, Max: 100, Doc: "Sampling; 0 takes the likeliest token."},
	{Name: "top_p", Type: Number, Default: 0.0, MinSet: true, Max: 1, Doc: "Take from the likeliest tokens that make up this share; 0 does not send it."},
	{Name: "top_k", Type: Int, Default: 0.0, Unit: "tokens", MinSet: true, Max: maxTopK, Doc: "Take from so many of the likeliest tokens; 0 does not send it."},
	{Name: "min_p", Type: Number, Default: 0.0, MinSet: true, Max: 1, Doc: "Take from tokens that have at least this share of the likeliest one's probability; 0 does not send it."},
	{Name: "repetition_penalty", Type: Number, Default: 0.0, MinSet: true, Max: 10, Doc: "Divides what speaks for a token that came before; 1 changes nothing, 0 does not send it."},
	{Name: "seed", Type: Int, Default: 42.0, MinSet: true, Max: math.MaxInt32, Doc: "Seed of prompts, lengths, arrivals and sampling."},
	{Name: "ignore_eos", Type: Bool, Default: true, Doc: "Go on after the end of text, which enforces the length of the answer."},
}

// maxTopK is more tokens than a vocabulary has.
const maxTopK = 10_000_000

func (w *Workload) decodeSampling(f *body) {
	w.Temperature = f.number("temperature", 0, 0, 100)
	w.TopP = f.number("top_p", 0, 0, 1)
	w.TopK = f.whole("top_k", 0, 0, maxTopK)
	w.MinP = f.number("min_p", 0, 0, 1)
	w.RepetitionPenalty = f.number("repetition_penalty", 0, 0, 10)
	w.Seed = f.whole("seed", 42, 0, math.MaxInt32)
	w.IgnoreEOS = f.truth("ignore_eos", true)
}
