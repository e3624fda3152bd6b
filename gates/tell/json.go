package tell

import (
	"bytes"
	"encoding/json"

	"github.com/mxflow/mxflow/gates/verdict"
)

// JSON is a value as programs read it, with the words of each reason in it beside its
// code, as "text": {"code": "gpu.shared", "subject": "GPU-1", "text": "…"}. The words
// may change from version to version, the rest does not.
func JSON(v any) ([]byte, error) {
	var buffer bytes.Buffer
	enc := json.NewEncoder(&buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return withText(bytes.TrimSuffix(buffer.Bytes(), []byte("\n")))
}

// reasonHead is how the JSON of a reason begins: its code is the first of its fields.
var reasonHead = []byte(`{"code":"`)

// withText adds the words to compact JSON. Objects that only look like a reason, by
// another field or a code that has no phrase, stay as they are.
func withText(data []byte) ([]byte, error) {
	var out bytes.Buffer
	var texts [][]byte // of the objects that are open, nil where one is no reason
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
		case quoted:
		case c == '{':
			text, err := textOf(data[i:])
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		case c == '}':
			last := len(texts) - 1
			if texts[last] != nil {
				out.WriteString(`,"text":`)
				out.Write(texts[last])
			}
			texts = texts[:last]
		}
		out.WriteByte(c)
	}
	return out.Bytes(), nil
}

// textOf is the JSON of the words of the reason that data begins with; nil where it
// begins with none.
func textOf(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, reasonHead) {
		return nil, nil
	}
	var r verdict.Reason
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if dec.Decode(&r) != nil || catalogue[r.Code] == nil {
		return nil, nil
	}
	var buffer bytes.Buffer
	enc := json.NewEncoder(&buffer)
	enc.SetEscapeHTML(false)
	err := enc.Encode(Line(r))
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), err
}
