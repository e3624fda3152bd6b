package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Exact reports whether every prompt has the length asked for, by a count that
// the engine's usage has confirmed.
func (p Prompts) Exact() bool {
	if !p.Verified {
		return false
	}
	for _, series := range [][]Prompt{p.Warmup, p.Measured} {
		for i := range series {
			for one := &series[i]; one != nil; one = one.Next {
				if one.Tokens != one.Asked {
					return false
				}
			}
		}
	}
	return true
}

// Digest is the SHA-256 over all that is sent for the prompts in order, in
// hexadecimal: equal digests are equal prompts. Each is preceded by its length,
// so that no two lists read the same.
func (p Prompts) Digest() string {
	h := sha256.New()
	for _, series := range [][]Prompt{p.Warmup, p.Measured} {
		fmt.Fprintf(h, "%d\n", len(series))
		for _, one := range series {
			text := one.encode()
			fmt.Fprintf(h, "%d\n%s", len(text), text)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
