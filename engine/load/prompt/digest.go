package prompt

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// digest is the same for prompts of which the engine gets the same, whenever.
func (p Prompt) digest() string {
	p.At = 0
	sum := sha256.Sum256(p.encode())
	return string(sum[:])
}

// encode is the prompt as JSON. All that is in it can be encoded: what comes
// from a data set was JSON.
func (p Prompt) encode() []byte {
	text, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("a prompt that is no JSON: %v", err))
	}
	return text
}
