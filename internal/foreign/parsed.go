package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp/syntax"
	"strings"

	"github.com/mxflow/mxflow/internal/redact"
)

// NotPattern is what is wrong with a regular expression.
func NotPattern(err error) error {
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return fmt.Errorf("%s: %q", wrong.Code, wrong.Expr)
	}
	return err
}

// NotJSON is what is wrong with a text that was to be JSON, in words of who wrote it.
func NotJSON(text []byte, err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if number, is := strings.CutPrefix(wrong.Value, "number "); is && wrong.Type.Kind() == reflect.Float64 {
			return fmt.Errorf("%s is too large a number", number)
		}
		if wrong.Field == "" {
			return fmt.Errorf("it is of another type: %s", wrong.Value)
		}
		return fmt.Errorf("%s is of another type: %s", wrong.Field, wrong.Value)
	}
	at, ok := errors.AsType[*json.SyntaxError](err)
	if ok { // which a decoder tells from a text that ends early
		if ended := json.NewDecoder(bytes.NewReader(text)).Decode(new(any)); ended != nil {
			err = ended
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("it ends in the middle of a value: it is truncated, or still being written")
	case ok:
		from := max(0, min(int(at.Offset)-1, len(text)))
		line, _, _ := strings.Cut(string(text[from:]), "\n")
		return fmt.Errorf("unexpected from byte %d on: %q", from+1, shortened(redact.ProcessSecrets(), line, 40))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
