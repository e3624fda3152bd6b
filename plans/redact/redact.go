// Package redact takes secrets out of text and data, so they are not logged,
// recorded or printed. It is a leaf: it knows nothing about plans or ledgers.
package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// MinLength is the least length of a secret, in bytes. A shorter text occurs in ordinary
// words and numbers, so that removing it would show where it was and ruin the rest.
const MinLength = 4

// Redactor replaces secrets. The nil Redactor replaces nothing.
type Redactor struct {
	replacer *strings.Replacer
	forms    []string
}

// New makes a Redactor for secrets. Those shorter than MinLength are ignored: callers
// that accept secrets must refuse them.
func New(secrets []string) *Redactor {
	return NewWith(secrets, func(string) string { return Mark })
}

// NewWith is New with a mark that may depend on the secret, so that equal
// secrets can be told from different ones.
func NewWith(secrets []string, mark func(secret string) string) *Redactor {
	marks := map[string]string{}
	for _, s := range secrets {
		if len(s) < MinLength {
			continue
		}
		m := mark(s)
		for _, form := range forms(s) {
			if _, known := marks[form]; !known && len(form) >= MinLength {
				marks[form] = m
			}
		}
	}
	if len(marks) == 0 {
		return nil
	}
	// The replacer prefers earlier pairs, so that a secret that begins another does not
	// leave the rest of the other.
	var list []string
	for form := range marks {
		list = append(list, form)
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, form := range list {
		pairs = append(pairs, form, marks[form])
	}
	return &Redactor{strings.NewReplacer(pairs...), list}
}

// Active reports whether there is anything to replace.
func (r *Redactor) Active() bool { return r != nil }

// Text is s without secrets, even within something longer.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// Bytes is Text for bytes, such as a JSON document.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	return []byte(r.replacer.Replace(string(b)))
}

// forms are the spellings in which programs print a secret: unchanged, escaped for JSON,
// Go, Python or URLs, in hexadecimal, in base64, and line by line if it has several
// lines.
func forms(s string) []string {
	out := []string{
		s, inner(s, strconv.Quote), inner(s, strconv.QuoteToASCII), inner(s, jsonText), inner(s, plainJSON), url.QueryEscape(s), url.PathEscape(s),
	}
	for _, json := range []string{inner(s, jsonText), inner(s, plainJSON)} {
		out = append(out, separators.Replace(json), ascii(json), strings.ReplaceAll(ascii(json), "/", `\/`))
	}
	quoted := strings.ReplaceAll(url.QueryEscape(s), "+", "%20") // urllib's quote(s, safe=""), JavaScript's but for a few
	out = append(out, quoted, strings.ReplaceAll(quoted, "%2F", "/"), component.Replace(quoted))
	for _, form := range slices.Clone(out) {
		out = append(out, escapes.ReplaceAllStringFunc(form, strings.ToLower), codes.ReplaceAllStringFunc(form, upper))
	}
	out = append(out, hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))))
	for _, line := range strings.Split(s, "\n") {
		// Short lines of a long secret are ordinary: "}" or "-----".
		if line = strings.TrimSpace(line); len(line) >= 2*MinLength {
			out = append(out, line)
		}
	}
	return append(out, base64Forms(s)...)
}

// separators are what Go alone escapes in JSON.
var separators = strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029")

// escapes are the bytes of a URL that are written in hexadecimal.
var escapes = regexp.MustCompile(`%[0-9A-F]{2}`)

// codes are the escapes of JSON that name a character by its number, which some
// write with capital letters.
var codes = regexp.MustCompile(`\\u[0-9a-f]{4}`)

func upper(code string) string { return `\u` + strings.ToUpper(code[2:]) }

// component are the characters that JavaScript's encodeURIComponent leaves alone.
var component = strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// ascii is a JSON text as Python's json.dumps writes it: no character beyond ASCII,
// and none but five of the short escapes.
func ascii(json string) string {
	var b strings.Builder
	for _, c := range json {
		switch {
		case c < 0x7f:
			b.WriteRune(c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

// inner is what a quoting function makes of s, without the quotes.
func inner(s string, quote func(string) string) string {
	q := quote(s)
	return q[1 : len(q)-1]
}

func jsonText(s string) string {
	text, _ := json.Marshal(s) // text never fails
	return string(text)
}

// plainJSON leaves <, > and & alone, as many encoders do.
func plainJSON(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

// base64Forms are s in base64, alone and as part of something longer such as
// "user:secret": there it begins at any of three offsets, and its first and last
// characters depend on what is around it.
func base64Forms(s string) (out []string) {
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		out = append(out, enc.EncodeToString([]byte(s)), strings.TrimRight(enc.EncodeToString([]byte(s)), "="))
		for offset := range 3 {
			text := enc.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, offset), s...))
			from, to := (offset*8+5)/6, (offset+len(s))*8/6
			// What little is left of a short secret would be found everywhere.
			if core := text[from:to]; len(core) >= 2*MinLength {
				out = append(out, core)
			}
		}
	}
	return out
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
	redactor *Redactor
	built    int // how many secrets redactor has
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
		known.secrets[s] = true
	}
}

// Forget is for tests, whose process loads plans with secrets that are ordinary words in
// others.
func Forget() {
	known.Lock()
	defer known.Unlock()
	known.secrets, known.redactor, known.built = nil, nil, 0
}

// Known is the Redactor of this process's secrets.
func Known() *Redactor {
	known.Lock()
	defer known.Unlock()
	if known.built != len(known.secrets) {
		known.redactor, known.built = New(slices.Sorted(maps.Keys(known.secrets))), len(known.secrets)
	}
	return known.redactor
}

// Cut is the first bytes of text, at most that many, without secrets and without
// splitting a character. Longer text may have been cut before: a secret left unfinished
// at its end is removed too.
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

// Begun is text that was cut at its beginning, without the end of a secret there.
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

// Any is a copy of v without secrets in its strings, at any depth. Fields named in keep
// are left unchanged; so are keys of maps, and strings of types other than string, which
// are a program's own words.
func (r *Redactor) Any(v any, keep ...string) any {
	if r == nil || v == nil {
		return v
	}
	return r.copy(reflect.ValueOf(v), keep).Interface()
}

// Clean removes secrets from the struct that p points to, in place: its strings, lists
// and maps are replaced; the old ones, which others may hold, are not written to.
func (r *Redactor) Clean(p any, keep ...string) {
	if r == nil {
		return
	}
	if v := reflect.ValueOf(p); v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct {
		r.clean(v.Elem(), keep)
	}
}

func (r *Redactor) clean(v reflect.Value, keep []string) {
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.CanSet() || slices.Contains(keep, v.Type().Field(i).Name) {
			continue
		}
		switch f.Kind() {
		case reflect.Pointer:
			if !f.IsNil() && f.Elem().Kind() == reflect.Struct {
				r.clean(f.Elem(), keep)
				continue
			}
		case reflect.Struct:
			r.clean(f, keep)
			continue
		}
		f.Set(r.copy(f, keep))
	}
}

var textType = reflect.TypeFor[string]()

func (r *Redactor) copy(v reflect.Value, keep []string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != textType {
			return v
		}
		return reflect.ValueOf(r.Text(v.String()))
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v
		}
		c := reflect.New(v.Type()).Elem()
		if v.Kind() == reflect.Interface {
			c.Set(r.copy(v.Elem(), keep))
			return c
		}
		c.Set(reflect.New(v.Type().Elem()))
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
