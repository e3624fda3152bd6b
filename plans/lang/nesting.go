package lang

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// maxNesting is how deep brackets, strings and blocks may be nested.
	maxNesting = 100
	// maxOperators is how many operators one text may have: each may nest the tree that
	// the parser builds.
	maxOperators = 10_000
)

// checkNesting refuses text on which the parser's own recursion, or the evaluation of
// what it builds, could exhaust the stack, which ends a process. It works on the parser's
// own tokens, since a scanner of ours could be made to disagree with it about what is a
// string. The lexer does not recurse.
func checkNesting(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	depth, operators := 0, 0
	for _, t := range tokens {
		switch {
		case t.Type == hclsyntax.TokenNumberLit && hugeNumber(string(t.Bytes)):
			return problem(t.Range, "invalid-value", "Number too large",
				"A number may have an exponent of up to three digits.")
		case opens[t.Type]:
			depth++
			if t.Type == hclsyntax.TokenTemplateControl {
				operators++
			}
		case closes[t.Type]:
			depth = max(0, depth-1)
		case operator[t.Type]:
			operators++
		}
		if depth > maxNesting {
			return problem(t.Range, "nested-too-deeply", "Nested too deep",
				fmt.Sprintf("Brackets, strings and blocks may be nested up to %d deep. Split this up; use locals.",
					maxNesting))
		}
		if operators > maxOperators {
			return problem(t.Range, "nested-too-deeply", "Too many operators",
				fmt.Sprintf("A file may have up to %d operators and %%{ } sequences. Split it up.", maxOperators))
		}
	}
	return nil
}

func tokenSet(types ...hclsyntax.TokenType) map[hclsyntax.TokenType]bool {
	set := map[hclsyntax.TokenType]bool{}
	for _, t := range types {
		set[t] = true
	}
	return set
}

var (
	opens = tokenSet(hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl)
	closes = tokenSet(hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd)
	operator = tokenSet(hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
		hclsyntax.TokenPercent, hclsyntax.TokenBang, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp,
		hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan,
		hclsyntax.TokenGreaterThanEq, hclsyntax.TokenQuestion)
)

// hugeNumber reports whether a number would take minutes to write out as text.
func hugeNumber(text string) bool { return hugeExponent.MatchString(text) }

var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4}`)
