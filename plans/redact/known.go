package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// known are the secrets of this process: of every plan that it has loaded.
var known struct {
	sync.Mutex
	secrets  map[string]bool
	redactor *Redactor
	built    int // how many secrets redactor has
}

// Know adds secrets to those of this process. Text of engines and commands is cut in
// rooms that know no plan, and a secret that was cut is found by nobody any more: so
// whoever cuts takes them out first, see Known.
func Know(secrets []string) {
	known.Lock()
	defer known.Unlock()
	if known.secrets == nil {
		known.secrets = map[string]bool{}
	}
	for _, s := range secrets {
		known.secrets[s] = true
	}
}

// Forget is for tests, whose process loads plans with secrets that are words of others.
func Forget() {
	known.Lock()
	defer known.Unlock()
	known.secrets, known.redactor, known.built = nil, nil, 0
}

// Known takes out the secrets of this process.
func Known() *Redactor {
	known.Lock()
	defer known.Unlock()
	if known.built != len(known.secrets) {
		known.redactor, known.built = New(slices.Sorted(maps.Keys(known.secrets))), len(known.secrets)
	}
	return known.redactor
}

// Cut is at most the first bytes of text, most of them, without secrets and without
// splitting a character. Text that is longer may have been cut before: a secret that
// its end leaves unfinished goes too.
func (r *Redactor) Cut(text string, most int) string {
	whole := len(text) <= most
	if text = r.Text(text); !whole {
		text = r.Finished(text)
	}
	if len(text) <= most {
		return text
	}
	for i := most; i > most-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(text[i]) {
			return text[:i]
		}
	}
	return text[:most]
}

// Finished is text without the beginning of a secret at its end.
func (r *Redactor) Finished(text string) string {
	if r == nil {
		return text
	}
	longest := 0
	for _, form := range r.forms {
		for n := min(len(form)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, form[:n]) {
				longest = n
			}
		}
	}
	return text[:len(text)-longest]
}

// Begun is text, which was cut at its beginning, without the end of a secret there.
func (r *Redactor) Begun(text string) string {
	if r == nil {
		return text
	}
	longest := 0
	for _, form := range r.forms {
		for n := min(len(form)-1, len(text)); n > longest; n-- {
			if strings.HasPrefix(text, form[len(form)-n:]) {
				longest = n
			}
		}
	}
	return text[longest:]
}
