package trace

import (
	"regexp"
	"strconv"
)

// Annotation is the content of an engine's mark around one step of its model.
type Annotation struct {
	Phase            string
	Requests, Tokens int
}

// The engines' marks, as in their public sources.
var (
	// vLLM: requests(tokens), of prompts and of answers.
	vllmStep = regexp.MustCompile(`^execute_context_(\d+)\((\d+)\)_generation_(\d+)\((\d+)\)`)
	// vLLM from 2026 on: requests(sq<tokens>sk<length>…).
	vllmLengths = regexp.MustCompile(
		`^execute_\d+_context_(\d+)\((?:sq(\d+))?[^)]*\)_generation_(\d+)\((?:sq(\d+))?[^)]*\)`)
	// SGLang: step[DECODE bs=4], step[EXTEND bs=2 toks=107].
	sglangStep = regexp.MustCompile(`^step\[(\w+) bs=(\d+)(?: toks=(\d+))?`)
	// TensorRT-LLM: [Executor] _forward_step 12: 1 ctx reqs, 3 gen reqs.
	trtllmStep = regexp.MustCompile(`_forward_step(?: \d+)?: (\d+) ctx reqs, (\d+) gen reqs`)
)

// ReadAnnotation parses an engine's mark around one step. ok is false if the text is
// something else, or the step had nothing to do.
func ReadAnnotation(text string) (a Annotation, ok bool) {
	// A number, or 0 if there is none or it is absurd.
	whole := func(digits string) int {
		n, err := strconv.Atoi(digits)
		if err != nil || n > 1<<30 {
			return 0
		}
		return n
	}
	if m := sglangStep.FindStringSubmatch(text); m != nil {
		requests, tokens := whole(m[2]), whole(m[3])
		switch m[1] {
		case "EXTEND", "PREFILL", "SPLIT_PREFILL":
			return Annotation{Prefill, requests, tokens}, requests > 0
		case "MIXED":
			return Annotation{Mixed, requests, tokens}, requests > 0
		case "DECODE":
			return Annotation{Decode, requests, requests}, requests > 0
		}
		// Verifying drafts and drafting belong to decoding, and the number of tokens is
		// not given.
		return Annotation{Decode, requests, 0}, requests > 0 && m[1] != "IDLE"
	}
	m := vllmStep.FindStringSubmatch(text)
	if m == nil {
		m = vllmLengths.FindStringSubmatch(text)
	}
	if t := trtllmStep.FindStringSubmatch(text); t != nil {
		m = []string{"", t[1], "", t[2], t[2]}
	}
	if m == nil {
		return a, false
	}
	prompts, answers := whole(m[1]), whole(m[3])
	switch {
	case prompts > 0 && answers > 0:
		return Annotation{Mixed, prompts + answers, whole(m[2]) + whole(m[4])}, true
	case prompts > 0:
		return Annotation{Prefill, prompts, whole(m[2])}, true
	}
	return Annotation{Decode, answers, whole(m[4])}, answers > 0
}
