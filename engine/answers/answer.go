package answers

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Answer is an engine's answer to one prompt.
type Answer struct {
	// Asked identifies the request (a digest): answers to different requests are not
	// compared.
	Asked string `json:"asked,omitzero"`
	Text  string `json:"text,omitzero"`
	// Tokens are those of the answer, in order.
	Tokens []Token `json:"tokens"`
	// Unlisted is how many more tokens the engine counted: of a stop text, of the end, or
	// parts of a character.
	Unlisted int `json:"unlisted,omitzero"`
	// Prompt are the tokens of the prompt, if the engine lists them. Each LogProb is
	// conditional on all tokens before it, so the first has none.
	Prompt []Token `json:"prompt,omitzero"`
	// End is why the answer ended, as reported by the engine: "stop", "length"; empty if
	// not reported.
	End string `json:"end,omitzero"`
}

// Token is one position of an answer or of a prompt.
type Token struct {
	// Text of the token, empty if the engine gave only its ID. Bytes that are not UTF-8
	// by themselves are spelled "bytes:\xe2\x80".
	Text string `json:"text"`
	// ID in the vocabulary, negative if unknown.
	ID      int   `json:"id"`
	LogProb Value `json:"logprob,omitzero"`
	// Top are the likeliest tokens of this position. Engines list them in any order, with
	// or without the token itself.
	Top []Alternative `json:"top,omitzero"`
}

// Alternative is a possible token at a position.
type Alternative struct {
	Text    string `json:"text"`
	ID      int    `json:"id"` // below 0 where it is not known
	LogProb Value  `json:"logprob,omitzero"`
}

// Value is a number that an engine may not have given, such as the natural logarithm of a
// probability. A given number need not be finite: NaN and infinities are kept, to be
// counted. The zero Value was not given.
type Value struct {
	number float64
	given  bool
}

// Of is a given number.
func Of(number float64) Value { return Value{number, true} }

// Number returns the number, and whether there is one. Without one it is NaN, which
// passes no comparison.
func (v Value) Number() (float64, bool) {
	if !v.given {
		return math.NaN(), false
	}
	return v.number, true
}

// Finite returns the number and whether it was given and is finite.
func (v Value) Finite() (float64, bool) {
	return v.number, v.given && !math.IsNaN(v.number) && !math.IsInf(v.number, 0)
}

func (v Value) String() string {
	if !v.given {
		return "none"
	}
	return fmt.Sprint(v.number)
}

// MarshalJSON writes a number, null if there is none, and numbers that JSON lacks as
// "NaN", "+Inf" or "-Inf".
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case !v.given:
		return []byte("null"), nil
	case math.IsNaN(v.number) || math.IsInf(v.number, 0):
		return json.Marshal(fmt.Sprint(v.number))
	}
	return json.Marshal(v.number)
}

// UnmarshalJSON reads what MarshalJSON writes, and the names of non-finite numbers in
// Python, JavaScript and C.
func (v *Value) UnmarshalJSON(text []byte) error {
	*v = Value{}
	if string(text) == "null" {
		return nil
	}
	word := string(text)
	if err := json.Unmarshal(text, &word); err == nil {
		if sign := strings.TrimLeft(word, "+-"); strings.EqualFold(sign, "nan") {
			word = sign
		}
	}
	number, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return fmt.Errorf("%s is not a log-probability: expected a number, null, \"NaN\", \"+Inf\" or \"-Inf\"", text)
	}
	*v = Of(number)
	return nil
}
