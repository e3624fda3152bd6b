package record

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans/redact"
)

// An engine may repeat a secret anywhere in its answer.
func TestRedactSamples(t *testing.T) {
	const secret = "hunter2-hunter2"
	said := "it said " + secret
	s := []measure.Sample{{Text: said, Reasoning: said, Tools: said, Doubts: said, Err: said}}
	Redact(s, redact.New([]string{secret}))
	v, texts := reflect.ValueOf(s[0]), 0
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.String {
			continue
		}
		if text := v.Field(i).String(); strings.Contains(text, secret) {
			t.Errorf("%s: %q", v.Type().Field(i).Name, text)
		} else if strings.HasPrefix(text, "it said ") {
			texts++
		}
	}
	if texts != 5 {
		t.Errorf("%d of 5 texts are left", texts)
	}
}
