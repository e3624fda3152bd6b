// Package shell reads and writes words of a POSIX shell. It starts none, and refuses
// syntax that needs one.
package shell

import (
	"fmt"
	"regexp"
	"strings"
)

// Words cuts a command line into words as a POSIX shell does: blanks part words, quotes
// and backslashes keep them together. Features that need a shell (pipes, variables,
// patterns) are an error, since none is started: a server must be the child of mxflow,
// which stops the processes that it starts.
func Words(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	open := false // a word has begun, though it may be empty: ''
	end := func() {
		if open {
			words = append(words, word.String())
			word.Reset()
			open = false
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ' ' || c == '\t':
			end()
		case c == '\\':
			if i++; i == len(text) {
				return nil, fmt.Errorf("it ends with a backslash that quotes nothing")
			}
			if text[i] != '\n' {
				word.WriteByte(text[i])
				open = true
			}
		case c == '\'':
			n := strings.IndexByte(text[i+1:], '\'')
			if n < 0 {
				return nil, fmt.Errorf("the quote ' at character %d is not closed", i+1)
			}
			word.WriteString(text[i+1 : i+1+n])
			i += n + 1
			open = true
		case c == '"':
			n, err := quoted(text[i+1:], &word)
			if err != nil {
				return nil, fmt.Errorf("%w, at character %d", err, i+1)
			}
			i += n
			open = true
		case c == '#' && open:
			word.WriteByte(c)
		case c == '~' && open && !strings.HasSuffix(word.String(), "="):
			word.WriteByte(c)
		case strings.IndexByte("|&;<>()$`*?[#~\n", c) >= 0:
			return nil, &NeedsShell{char: c}
		default:
			word.WriteByte(c)
			open = true
		}
	}
	end()
	return words, nil
}

// quoted reads up to the closing double quote, and says how many bytes that is.
func quoted(text string, word *strings.Builder) (int, error) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return i + 1, nil
		case '$', '`':
			return 0, &NeedsShell{char: c}
		case '\\':
			if i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
				if i++; text[i] != '\n' {
					word.WriteByte(text[i])
				}
				continue
			}
			word.WriteByte(c)
		default:
			word.WriteByte(c)
		}
	}
	return 0, fmt.Errorf("the quote \" is not closed")
}

// NeedsShell is a character that means something to a shell alone.
type NeedsShell struct {
	char byte
}

func (e *NeedsShell) Error() string {
	what := map[byte]string{
		'|': "a pipe", '&': "an operator", ';': "an operator", '<': "a redirection", '>': "a redirection",
		'(': "a group", ')': "a group",
		'$': "a variable or a command's output", '`': "a command's output", '*': "a pattern of file names",
		'?': "a pattern of file names",
		'[': "a pattern of file names", '#': "a comment", '~': "a home folder", '\n': "a new line",
	}[e.char]
	return fmt.Sprintf("%q is %s, which needs a shell", string(e.char), what)
}

// plainWord needs no quotes in any place of a command behind its first word.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$`)

// Line is a command line of words.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}

// Quote is text as one word of a POSIX shell. Within single quotes everything but a
// single quote is literal, line ends too.
func Quote(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
