package tell

import (
	"bytes"
	"encoding/json"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// JSON encodes a value for programs, adding to each reason its words as "text", beside
// the code: {"code": "gpu.shared", "subject": "GPU-1", "text": "…"}. The words may change
// from version to version, the rest does not.
func JSON(v any) ([]byte, error) {
	data, err := plainJSON(v)
	if err != nil {
		return nil, err
	}
	return withText(data)
}

// plainJSON is compact, and does not escape "<".
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// told is a reason with its words.
type told struct {
	Code    code.Code       `json:"code"`
	Subject string          `json:"subject,omitempty"`
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Args    verdict.Args    `json:"args,omitempty"`
	Causes  []told          `json:"causes,omitempty"`
	Text    string          `json:"text,omitempty"`
}

func tellOf(r verdict.Reason) told {
	t := told{r.Code, r.Subject, r.Verdict, r.Args, nil, Line(r)}
	for _, c := range r.Causes {
		t.Causes = append(t.Causes, tellOf(c))
	}
	return t
}

// reasonHead is how the JSON of a reason starts: its code is the first field.
var reasonHead = []byte(`{"code":"`)

// withText adds the words to compact JSON. Objects that only look like a reason, with
// another field or a code without a phrase, stay unchanged.
func withText(data []byte) ([]byte, error) {
	var out bytes.Buffer
	quoted := false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case quoted && c == '\\':
			out.WriteByte(c)
			i++
			c = data[i]
		case c == '"':
			quoted = !quoted
		case !quoted && c == '{' && bytes.HasPrefix(data[i:], reasonHead):
			if r, size := reasonAt(data[i:]); size > 0 {
				text, err := plainJSON(tellOf(r))
				if err != nil {
					return nil, err
				}
				out.Write(text)
				i += size - 1
				continue
			}
		}
		out.WriteByte(c)
	}
	return out.Bytes(), nil
}

// reasonAt returns the reason at the start of data and its length in bytes; none if data
// starts with none.
func reasonAt(data []byte) (r verdict.Reason, size int) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if dec.Decode(&r) != nil || catalogue[r.Code] == nil {
		return verdict.Reason{}, 0
	}
	return r, int(dec.InputOffset())
}
