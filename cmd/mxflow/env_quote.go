package main

import (
	"regexp"
	"strings"
)

// word is one word of a shell command: text that stands for itself, and variables
// that the shell puts in.
type word []piece

// piece is text, or the variable of that name; one that splits is several words.
type piece struct {
	text, variable string
	splits         bool
}

func literal(text string) word { return word{{text: text}} }

func (w word) then(more ...piece) word { return append(w[:len(w):len(w)], more...) }

// plainWord needs no quotes in any place of a command behind its first word.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$`)

// shellQuoted is text as one word of a POSIX shell, whatever it holds. Within single
// quotes everything but a single quote stands for itself, line ends too.
func shellQuoted(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// String writes the word for a POSIX shell.
func (w word) String() string {
	if len(w) == 1 && w[0].variable == "" {
		return shellQuoted(w[0].text)
	}
	var b strings.Builder
	for _, p := range w {
		switch {
		case p.splits:
			b.WriteString("$" + p.variable)
		case p.variable != "":
			b.WriteString(`"$` + p.variable + `"`)
		case p.text != "":
			b.WriteString(shellQuoted(p.text))
		}
	}
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// placeholders are parts of an argument that a launch fills in, and the variables
// that a script has for them.
var placeholders = []struct{ mark, variable string }{
	{"{port}", "MXFLOW_PORT"}, {"{config}", "MXFLOW_CONFIG"}, {"{source}", "MXFLOW_SOURCE"}, {"{mxflow}", "MXFLOW_PROGRAM"},
}

// filled cuts text where placeholders stand. as is what stands for them where
// that is no variable of the script.
func filled(text string, as map[string]string) (w word) {
	for text != "" {
		at, mark, variable := len(text), "", ""
		for _, p := range placeholders {
			if i := strings.Index(text, p.mark); i >= 0 && i < at {
				at, mark, variable = i, p.mark, p.variable
			}
		}
		if at > 0 {
			w = append(w, piece{text: text[:at]})
		}
		if mark == "" {
			break
		}
		if fixed, ok := as[mark]; ok {
			w = append(w, piece{text: fixed})
		} else {
			w = append(w, piece{variable: variable})
		}
		text = text[at+len(mark):]
	}
	if len(w) == 0 {
		return literal("")
	}
	return w
}

// fixed reports whether a word is text alone, which no launch fills in.
func (w word) fixed() bool {
	for _, p := range w {
		if p.variable != "" {
			return false
		}
	}
	return true
}
