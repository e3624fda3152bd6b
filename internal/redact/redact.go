// Package redact takes secrets out of text and data, so they are not logged,
// recorded or printed. It is a leaf: it knows nothing about plans or ledgers.
package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const Mark = "[redacted]"

// MinLength is the least length of a secret, in bytes. A shorter text occurs in ordinary
// words and numbers, so removing it would show where it was and ruin the rest.
const MinLength = 4

// window is how many bytes in a row of a secret are removed by themselves.
const window = 8

// Redactor replaces secrets. The nil Redactor replaces nothing.
type Redactor struct {
	forms []string // in lower case
	// whole holds the secrets that are replaced as a whole, by their first byte.
	whole [256][]marked
	// parts are the windows of the others; one that is false occurs everywhere, and is
	// replaced only beside one that is true. sieve has a bit for each, at sieved of it.
	parts map[uint64]bool
	sieve [1 << 15]uint64
}

type marked struct{ form, mark string }

// New makes a Redactor for secrets and, in upper or lower case, for any 8 bytes and more
// of one. Those shorter than MinLength are ignored: callers that accept secrets must
// refuse them.
func New(secrets []string) *Redactor {
	r := NewWith(secrets, func(string) string { return Mark })
	if r == nil {
		return nil
	}
	for first, list := range r.whole {
		r.whole[first] = slices.DeleteFunc(list, func(m marked) bool { return len(m.form) >= window })
	}
	r.parts = map[uint64]bool{}
	for _, form := range r.forms {
		r.add(form)
	}
	return r
}

// OnlyWhole makes a Redactor for nothing less than whole secrets, for texts whose rest counts.
func OnlyWhole(secrets []string) *Redactor {
	return NewWith(secrets, func(string) string { return Mark })
}

// NewWith is Whole with a mark that may depend on the secret, so equal secrets can be
// told from different ones.
func NewWith(secrets []string, mark func(secret string) string) *Redactor {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < MinLength })
	if len(secrets) == 0 {
		return nil
	}
	r := &Redactor{}
	for _, s := range secrets {
		for _, form := range forms(s) {
			r.forms = append(r.forms, string(lower(form)))
			list := append(r.whole[form[0]], marked{form, mark(s)})
			slices.SortStableFunc(list, func(a, b marked) int { return len(b.form) - len(a.form) })
			r.whole[form[0]] = list
		}
	}
	return r
}

// add adds the windows of a form. Those of one or two bytes that repeat, or with the :// of
// an address, occur everywhere, but count in a form that has no other.
func (r *Redactor) add(form string) {
	counts := false
	for i := range len(form) - window + 1 {
		part := []byte(form[i : i+window])
		w := binary.BigEndian.Uint64(part)
		slices.Sort(part)
		alone := len(slices.Compact(part)) > 2 && !strings.Contains(form[i:i+window], "://")
		counts = counts || alone
		r.parts[w] = r.parts[w] || alone
		r.sieve[sieved(w)>>6] |= 1 << (sieved(w) & 63)
	}
	for i := 0; i+window <= len(form) && !counts; i++ {
		r.parts[binary.BigEndian.Uint64([]byte(form[i:i+window]))] = true
	}
}

// sieved is a window's bit. There are many more than windows of some long secrets, so
// nearly all text is told by them.
func sieved(w uint64) uint64 { return w * 0x9e3779b97f4a7c15 >> (64 - 21) }

func (r *Redactor) Active() bool { return r != nil }

// Text is s without secrets, even within something longer.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	read := unescape(s)
	low, done := lower(read.text), 0
	var out strings.Builder
	for begin, end, mark := r.next(read.text, low, 0); end > 0; begin, end, mark = r.next(read.text, low, end) {
		out.WriteString(s[done:read.at(begin)] + mark)
		done = read.at(end)
	}
	if done == 0 {
		return s
	}
	return out.String() + s[done:]
}

// next is the first secret from a place on, or stretch of parts that overlap; end is 0 if
// there is none. low is the text in lower case.
func (r *Redactor) next(text string, low []byte, from int) (begin, end int, mark string) {
	counts := false
	for i := from; i < len(text) && !(counts && i >= end); i++ {
		n := 0
		for _, m := range r.whole[text[i]] {
			if strings.HasPrefix(text[i:], m.form) {
				if n, mark, counts = len(m.form), m.mark, true; r.parts == nil {
					return i, i + n, mark
				}
				break
			}
		}
		if i+window <= len(low) {
			w := binary.BigEndian.Uint64(low[i:])
			if bit := sieved(w); r.sieve[bit>>6]>>(bit&63)&1 != 0 {
				if alone, is := r.parts[w]; is {
					n, mark, counts = max(n, window), Mark, counts || alone
				}
			}
		}
		if n > 0 {
			if i >= end {
				begin = i
			}
			end = max(end, i+n)
		}
	}
	if !counts {
		return 0, 0, ""
	}
	return begin, end, mark
}

// Mask is a text with stars in place of the lines that hold a secret, so places in it
// stay; nil if that does not remove all.
func (r *Redactor) Mask(text []byte) []byte {
	if r == nil || r.Text(string(text)) == string(text) {
		return text
	}
	var masked strings.Builder
	for line := range strings.Lines(string(text)) {
		if r.Text(line) != line {
			end := line[len(strings.TrimRight(line, "\r\n")):]
			line = strings.Repeat("*", len(line)-len(end)) + end
		}
		masked.WriteString(line)
	}
	if r.Text(masked.String()) != masked.String() {
		return nil
	}
	return []byte(masked.String())
}

// Bytes is Text for bytes, such as a JSON document.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	return []byte(r.Text(string(b)))
}

// forms are the spellings of a secret, besides those that unescape reads: unchanged, in the
// query of a URL and in base64. What is printed as it is may look escaped.
func forms(s string) []string {
	all := []string{s, unescape(s).text, strings.ReplaceAll(s, " ", "+"), base64.StdEncoding.EncodeToString([]byte(s))}
	// As part of something longer, such as "user:secret", it begins at any of three
	// offsets, and its first and last characters depend on what is around it.
	for offset := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), s...))
		// What little is left of a short secret would be found everywhere.
		if core := text[(offset*8+5)/6 : (offset+len(s))*8/6]; len(core) >= window {
			all = append(all, core)
		}
	}
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < 2 })
}

// lower is a text with A to Z in lower case, which keeps its length.
func lower(text string) []byte {
	low := []byte(text)
	for i, c := range low {
		if 'A' <= c && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	return low
}

// unescaped is a text with its escapes read.
type unescaped struct {
	text   string
	places []int // where each byte was; nil if there is no escape
}

// at is where a byte of it was.
func (u unescaped) at(i int) int {
	if u.places == nil {
		return i
	}
	return u.places[i]
}

// unescape reads the escapes of JSON, Go, Python, C and URLs.
func unescape(s string) unescaped {
	if strings.IndexByte(s, '\\') < 0 && strings.IndexByte(s, '%') < 0 {
		return unescaped{s, nil}
	}
	text, places := make([]byte, 0, len(s)), make([]int, 0, len(s)+1)
	for i := 0; i < len(s); {
		n := 0
		if s[i] == '\\' || s[i] == '%' {
			text, n = escape(text, s[i:])
		}
		if n == 0 {
			text, n = append(text, s[i]), 1
		}
		for len(places) < len(text) {
			places = append(places, i)
		}
		i += n
	}
	return unescaped{string(text), append(places, len(s))}
}

// escape appends what the escape means that s begins with, and returns its length; 0 if it
// begins with none.
func escape(to []byte, s string) ([]byte, int) {
	switch {
	case s[0] == '%':
		if b, err := hex.DecodeString(s[1:min(3, len(s))]); err == nil && len(b) == 1 {
			return append(to, b...), 3
		}
		return to, 0
	case len(s) > 1 && strings.IndexByte(`"'/`, s[1]) >= 0:
		return append(to, s[1]), 2
	case len(s) >= 12 && s[1] == 'u' && s[6:8] == `\u`:
		var pair string
		if err := json.Unmarshal([]byte(`"`+s[:12]+`"`), &pair); err == nil && utf8.RuneCountInString(pair) == 1 {
			return append(to, pair...), 12
		}
	}
	c, char, rest, err := strconv.UnquoteChar(s, 0)
	switch {
	case err != nil:
		return to, 0
	case char:
		return utf8.AppendRune(to, c), len(s) - len(rest)
	}
	return append(to, byte(c)), len(s) - len(rest)
}

// Sealed is a mark in place of a secret: anyone with the key can tell whether another
// text is the same, and nobody else can guess it.
func Sealed(key []byte, secret string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(secret))
	return "sensitive:" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// known are the secrets of this process: of every plan that it has loaded.
var known struct {
	sync.Mutex
	secrets  map[string]bool
	redactor *Redactor // nil until it is asked for
}

// Know adds secrets to those of this process. Text of engines and commands is cut in
// packages that know no plan, and nothing finds a secret that was cut: they remove
// secrets before they cut, see Known.
func Know(secrets []string) {
	known.Lock()
	defer known.Unlock()
	if known.secrets == nil {
		known.secrets = map[string]bool{}
	}
	for _, s := range secrets {
		if !known.secrets[s] {
			known.secrets[s], known.redactor = true, nil
		}
	}
}

// Forget is for tests, whose process loads plans with secrets that are ordinary words in
// others.
func Forget() {
	known.Lock()
	defer known.Unlock()
	known.secrets, known.redactor = nil, nil
}

// ProcessSecrets is the Redactor of this process's secrets.
func ProcessSecrets() *Redactor {
	known.Lock()
	defer known.Unlock()
	if known.redactor == nil && len(known.secrets) > 0 {
		known.redactor = New(slices.Sorted(maps.Keys(known.secrets)))
	}
	return known.redactor
}

// Cut is the first bytes of text, at most that many, without secrets and without
// splitting a character. Longer text may have been cut before: a secret left unfinished
// at its end is removed too.
func (r *Redactor) Cut(text string, most int) string {
	whole := len(text) <= most
	if text = r.Text(text); !whole {
		text = r.WithoutOpenEnd(text)
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

// WithoutOpenEnd is text without the beginning of a secret at its end, or a part that may go on.
func (r *Redactor) WithoutOpenEnd(text string) string {
	if r == nil {
		return text
	}
	text = strings.TrimSuffix(text, Mark)
	read := unescape(text[:unfinished.FindStringIndex(text)[0]])
	if n := r.overlap(read.text, true); n > 0 {
		return text[:read.at(len(read.text)-n)]
	}
	return text
}

// unfinished are escapes that may go on behind the end of a text.
var unfinished = regexp.MustCompile(`(\\([xuU][0-9A-Fa-f]*)?|%[0-9A-Fa-f]?)*$`)

// WithoutCutStart is text that was cut at its beginning, without the end of a secret there.
func (r *Redactor) WithoutCutStart(text string) string {
	if r == nil {
		return text
	}
	read := unescape(text)
	return text[read.at(r.overlap(read.text, false)):]
}

// overlap is how much of a form's beginning is at the end of a text, or of a form's end at
// its beginning.
func (r *Redactor) overlap(text string, atEnd bool) (longest int) {
	text = string(lower(text))
	for _, form := range r.forms {
		for n := min(len(form)-1, len(text)); n > longest; n-- {
			if atEnd && strings.HasSuffix(text, form[:n]) || !atEnd && strings.HasPrefix(text, form[len(form)-n:]) {
				longest = n
			}
		}
	}
	return longest
}

// Any is a copy of v without secrets in its strings, at any depth. Fields named in keep
// are left unchanged; so are keys of maps, and strings of types other than string, which
// are a program's own words.
func (r *Redactor) Any(v any, keep ...string) any {
	if r == nil || v == nil {
		return v
	}
	return r.copy(reflect.ValueOf(v), keep).Interface()
}

// Clean removes secrets from the struct that p points to: what it holds is replaced; the
// old values, which others may hold, are not written to.
func (r *Redactor) Clean(p any, keep ...string) {
	if v := reflect.ValueOf(p); r != nil && v.Kind() == reflect.Pointer && !v.IsNil() {
		v.Elem().Set(r.copy(v.Elem(), keep))
	}
}

var textType = reflect.TypeFor[string]()

var digest = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// onlyLooksLikeOne reports whether text is a digest in which only a short secret is found: that
// is chance, and what the digest names would not be found any more.
func (r *Redactor) onlyLooksLikeOne(text string) bool {
	return digest.MatchString(text) && !slices.ContainsFunc(r.forms, func(form string) bool {
		return len(form) >= window && strings.Contains(text, form)
	})
}

func (r *Redactor) copy(v reflect.Value, keep []string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != textType || r.onlyLooksLikeOne(v.String()) {
			return v
		}
		return reflect.ValueOf(r.Text(v.String()))
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v
		}
		if v.Kind() == reflect.Interface {
			return r.copy(v.Elem(), keep)
		}
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(r.copy(v.Elem(), keep))
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(r.copy(v.Index(i), keep))
		}
		return c
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), r.copy(it.Value(), keep))
		}
		return c
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		for i := range c.NumField() {
			if f := c.Field(i); f.CanSet() && !slices.Contains(keep, v.Type().Field(i).Name) {
				f.Set(r.copy(v.Field(i), keep))
			}
		}
		return c
	default:
		return v
	}
}
