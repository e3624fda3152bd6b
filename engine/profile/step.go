package profile

import (
	"regexp"
	"strconv"
	"strings"
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
	vllmLengths = regexp.MustCompile(`^execute_\d+_context_(\d+)\((?:sq(\d+))?[^)]*\)_generation_(\d+)\((?:sq(\d+))?[^)]*\)`)
	// SGLang: step[DECODE bs=4], step[EXTEND bs=2 toks=107].
	sglangStep = regexp.MustCompile(`^step\[(\w+) bs=(\d+)(?: toks=(\d+))?`)
	// TensorRT-LLM: [Executor] _forward_step 12: 1 ctx reqs, 3 gen reqs.
	trtllmStep = regexp.MustCompile(`_forward_step(?: \d+)?: (\d+) ctx reqs, (\d+) gen reqs`)
)

// ReadAnnotation parses an engine's mark around one step. ok is false if the text is
// something else, or the step had nothing to do.
func ReadAnnotation(text string) (a Annotation, ok bool) {
	switch {
	case strings.HasPrefix(text, "execute_"):
		m := vllmStep.FindStringSubmatch(text)
		if m == nil {
			m = vllmLengths.FindStringSubmatch(text)
		}
		if m == nil {
			return a, false
		}
		return stepOf(whole(m[1]), whole(m[2]), whole(m[3]), whole(m[4]))
	case strings.HasPrefix(text, "step["):
		m := sglangStep.FindStringSubmatch(text)
		if m == nil {
			return a, false
		}
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
	case strings.Contains(text, "_forward_step"):
		m := trtllmStep.FindStringSubmatch(text)
		if m == nil {
			return a, false
		}
		return stepOf(whole(m[1]), 0, whole(m[2]), whole(m[2]))
	}
	return a, false
}

// stepOf is a step with some requests in prefill and some in decoding.
func stepOf(prompts, promptTokens, answers, answerTokens int) (Annotation, bool) {
	switch {
	case prompts > 0 && answers > 0:
		return Annotation{Mixed, prompts + answers, promptTokens + answerTokens}, true
	case prompts > 0:
		return Annotation{Prefill, prompts, promptTokens}, true
	}
	return Annotation{Decode, answers, answerTokens}, answers > 0
}

// whole is a number, or 0 if there is none or it is absurd.
func whole(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1<<30 {
		return 0
	}
	return n
}
