package plans

import "github.com/hashicorp/hcl/v2/hclsyntax"

// closerOf is the token that closes what one opens.
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

// firstWord is the identifier that the tokens begin with.
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

// endsLine reports whether a comment takes in the end of its line.
func endsLine(comment []byte) bool {
	return len(comment) > 0 && comment[len(comment)-1] == '\n'
}

// hugeNumber tells numbers that would take long to read, or to write out.
func hugeNumber(text []byte) bool {
	if len(text) > maxNumber {
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
