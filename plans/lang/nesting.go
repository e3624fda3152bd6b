package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// MaxNesting is how deep brackets, strings and blocks may be nested.
	MaxNesting = 100
	// maxOperators is how many operators, calls and dots one expression may
	// chain: each of them may nest the tree that the parser builds.
	maxOperators = 1000
	// MaxNumber is the longest number, in characters.
	MaxNumber = 40
)

// checkNesting refuses text on which the parser's own recursion, or the evaluation of
// what it builds, could exhaust the stack, which ends a process. It works on the parser's own tokens, since a scanner of ours could be made to
// disagree with it about what is a string. The lexer does not recurse.
//
// The count is an upper bound of the depth: an operator counts until its expression ends
// (at a comma, or an end of line that ends one), even if the brackets around it have been
// closed since.
func checkNesting(filename string, src []byte) *hcl.Diagnostic {
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	n := nesting{frames: []frame{{line: true}}}
	for i, t := range tokens {
		if code, summary, detail := n.token(t, tokens[i+1:]); summary != "" {
			return SourceError(filename, t.Range, code, summary, detail)
		}
	}
	return nil
}

// frame is an open bracket, string or template sequence.
type frame struct {
	closer hclsyntax.TokenType
	// operators of the current expression, and the most of any one before it.
	operators, most int
	// line: a line's end ends an expression here.
	line bool
	// text: its parts are side by side, not nested.
	text bool
	// loops is how many %{ for } are open in a template, conditions how many %{ if } it
	// has had.
	loops, conditions int
}

type nesting struct{ frames []frame }

func (n *nesting) token(t hclsyntax.Token, rest hclsyntax.Tokens) (code, summary, detail string) {
	top := &n.frames[len(n.frames)-1]
	closer, opens := closerOf[t.Type]
	switch {
	case t.Type == hclsyntax.TokenNumberLit && HugeNumber(t.Bytes):
		return "invalid-value", "Number too large", fmt.Sprintf("A number may have up to %d characters and an exponent of up to three digits.", MaxNumber)
	case opens:
		return n.open(t, closer, rest)
	case len(n.frames) > 1 && t.Type == top.closer:
		n.close()
		return "", "", ""
	case t.Type == hclsyntax.TokenComma, t.Type == hclsyntax.TokenNewline && top.line,
		t.Type == hclsyntax.TokenComment && top.line && endsLine(t.Bytes):
		top.most, top.operators = max(top.most, top.operators), 0
		return "", "", ""
	case t.Type == hclsyntax.TokenNewline, passive[t.Type]:
		return "", "", ""
	}
	// Everything else is an operator, or no part of the language.
	top.operators++
	return n.long()
}

func (n *nesting) open(t hclsyntax.Token, closer hclsyntax.TokenType, rest hclsyntax.Tokens) (code, summary, detail string) {
	if len(n.frames) > MaxNesting {
		return "nested-too-deeply", "Nested too deep", fmt.Sprintf("Brackets, strings and blocks may be nested up to %d deep. Split this up; use locals.", MaxNesting)
	}
	word := firstWord(rest)
	f := frame{closer: closer}
	switch t.Type {
	case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
		f.text = true
	case hclsyntax.TokenOBrace:
		f.line = word != "for"
	case hclsyntax.TokenTemplateControl:
		top := &n.frames[len(n.frames)-1]
		switch word {
		case "for":
			top.loops++
		case "endfor":
			top.loops = max(0, top.loops-1)
		case "if":
			top.conditions++
		}
		if top.loops > MaxNesting || top.conditions > MaxNesting {
			return "nested-too-deeply", "Nested too deep", fmt.Sprintf("A text may have up to %d %%{ if } sequences, and %%{ for } up to that deep.", MaxNesting)
		}
	}
	n.frames = append(n.frames, f)
	return n.long()
}

func (n *nesting) close() {
	last := len(n.frames) - 1
	f := n.frames[last]
	n.frames = n.frames[:last]
	top := &n.frames[last-1]
	inner := max(f.most, f.operators)
	if top.text {
		top.most = max(top.most, inner)
		return
	}
	// Call, index or splat: one more link of the chain.
	top.operators += inner + 1
}

// long refuses an expression that chains too many operators.
func (n *nesting) long() (code, summary, detail string) {
	sum := 0
	for _, f := range n.frames {
		sum += f.operators
	}
	if sum <= maxOperators {
		return "", "", ""
	}
	return "nested-too-deeply", "Expression too long", fmt.Sprintf("An expression may have up to %d operators, dots and brackets. Split it up; use locals.", maxOperators)
}

// closerOf is the token that closes what another opens.
var closerOf = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOParen:          hclsyntax.TokenCParen,
	hclsyntax.TokenOBrack:          hclsyntax.TokenCBrack,
	hclsyntax.TokenOBrace:          hclsyntax.TokenCBrace,
	hclsyntax.TokenOQuote:          hclsyntax.TokenCQuote,
	hclsyntax.TokenOHeredoc:        hclsyntax.TokenCHeredoc,
	hclsyntax.TokenTemplateInterp:  hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// passive tokens neither open, close, end nor extend anything.
var passive = map[hclsyntax.TokenType]bool{
	hclsyntax.TokenIdent: true, hclsyntax.TokenNumberLit: true, hclsyntax.TokenStringLit: true,
	hclsyntax.TokenQuotedLit: true, hclsyntax.TokenEqual: true, hclsyntax.TokenComment: true,
	hclsyntax.TokenEOF: true, hclsyntax.TokenColon: true, hclsyntax.TokenFatArrow: true,
}

// firstWord is the identifier that the tokens start with.
func firstWord(tokens hclsyntax.Tokens) string {
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			continue
		case hclsyntax.TokenIdent:
			return string(t.Bytes)
		}
		break
	}
	return ""
}

// endsLine reports whether a comment includes the end of its line.
func endsLine(comment []byte) bool {
	return len(comment) > 0 && comment[len(comment)-1] == '\n'
}

// HugeNumber reports whether a number would take long to read, or to write out.
func HugeNumber(text []byte) bool {
	if len(text) > MaxNumber {
		return true
	}
	digits, exponent := 0, false
	for _, c := range text {
		switch {
		case c == 'e' || c == 'E':
			exponent, digits = true, 0
		case c >= '0' && c <= '9':
			digits++
		}
	}
	return exponent && digits > 3
}
