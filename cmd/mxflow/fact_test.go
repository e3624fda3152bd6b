package main

import (
	"github.com/mxflow/mxflow/gates/verdict"
)

// fact is a fact of which only its words matter.
func fact(text string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", text))
}

func facts(texts ...string) (reasons []verdict.Reason) {
	for _, text := range texts {
		reasons = append(reasons, fact(text))
	}
	return reasons
}
