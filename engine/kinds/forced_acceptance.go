package kinds

import (
	"regexp"
	"strconv"
	"strings"
)

// Ways to force an engine to accept drafted tokens that its model would not have
// produced. They are for exploring the potential of speculation; measurements under them
// are not the model's work. Every kind is checked for all of them, since the engine
// behind a command may be another than its name suggests.

// forcedVariables force so many tokens to be accepted if they are above 0: those of
// SGLang and of TensorRT-LLM.
var forcedVariables = []string{"SGLANG_SIMULATE_ACC_LEN", "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"}

// ForcedLines are expressions for log lines, or for a command line, which show that
// tokens are accepted by force: vLLM's synthetic rejection sampling however it is
// written, and the variables with their value.
var ForcedLines = []string{
	`rejection[_-]sample[_-]method[\\'"\s=:]+synthetic\b`,
	`\b(?:` + strings.Join(forcedVariables, "|") + `)[\\'"\s]*[=:][\\'"\s]*[0-9.]*[1-9]`,
}

var forcedLine = regexp.MustCompile(strings.Join(ForcedLines, "|"))

// ForcedBy is what forces acceptance in such a text; empty if nothing does.
func ForcedBy(text string) string { return forcedLine.FindString(text) }

// ForcedIn is what forces acceptance in an environment of NAME=value; empty if nothing
// does. A value that is not a number counts as forcing.
func ForcedIn(environ []string) string {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		for _, forces := range forcedVariables {
			if name != forces || strings.TrimSpace(value) == "" {
				continue
			}
			if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil || !(n <= 0) {
				return pair
			}
		}
	}
	return ""
}
