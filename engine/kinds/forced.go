package kinds

import (
	"regexp"
	"strconv"
	"strings"
)

// Ways to make an engine take drafted tokens that its model would not have said. They
// are for trying out what speculation could bring; what is measured under them is not
// the model's work. Any kind is looked at for all of them, since the engine behind a
// command may be another than its name says.

// forcedVariables force so many tokens to be accepted where they are above 0: those of
// SGLang and of TensorRT-LLM.
var forcedVariables = []string{"SGLANG_SIMULATE_ACC_LEN", "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"}

// ForcedLines are expressions for lines of a log, or for a command line, that say that
// tokens are accepted by force: vLLM's synthetic rejection sampling however it is
// written, and the variables with their value.
var ForcedLines = []string{
	`rejection[_-]sample[_-]method[\\'"\s=:]+synthetic\b`,
	`\b(?:` + strings.Join(forcedVariables, "|") + `)[\\'"\s]*[=:][\\'"\s]*[0-9.]*[1-9]`,
}

var forcedLine = regexp.MustCompile(strings.Join(ForcedLines, "|"))

// ForcedBy is what forces acceptance in a text of that kind; empty where nothing does.
func ForcedBy(text string) string { return forcedLine.FindString(text) }

// ForcedIn is what forces acceptance in an environment of NAME=value; empty where
// nothing does. A value that is not a number is taken for one that does.
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
