package steps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/mxflow/mxflow/engine/observe"
)

const (
	// maxOutput is how much JSON of a command is read, in bytes.
	maxOutput = 64 << 20
	// maxValues is how many values one metric may have in a launch.
	maxValues = 1 << 20
	// jqLimit is how long one expression may compute: there are some that never
	// end, such as repeat(1).
	jqLimit = 20 * time.Second
)

// values takes every metric out of what a command printed, by name, in the
// order of the plan's expression. The error is one sentence about the first
// thing that is wrong.
func (c *command) values(ctx context.Context, text []byte) (map[string][]float64, error) {
	document, err := c.document(text)
	if err != nil {
		return nil, err
	}
	out := map[string][]float64{}
	for _, m := range c.Metrics {
		if out[m.Name], err = m.values(ctx, document); err != nil {
			return nil, fmt.Errorf("metric %s (%s): %w", m.Name, m.JQ, err)
		}
	}
	return out, nil
}

// document is the output as the expressions see it.
func (c *command) document(text []byte) (any, error) {
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("it printed nothing where JSON was expected")
	case !utf8.Valid(text):
		return nil, errors.New("its output is not UTF-8 text, as JSON is")
	}
	switch c.Format {
	case formatLastLine:
		if i := bytes.LastIndexAny(trimmed, "\r\n"); i >= 0 {
			trimmed = trimmed[i+1:]
		}
		v, err := decodeJSON(trimmed)
		if err != nil {
			return nil, fmt.Errorf("its last line is no JSON: %w", err)
		}
		return v, nil
	case formatJSONL:
		all := []any{}
		line := 0
		for text := range bytes.Lines(text) {
			line++
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			v, err := decodeJSON(text)
			if err != nil {
				return nil, fmt.Errorf("line %d of its output is no JSON: %w", line, err)
			}
			all = append(all, v)
		}
		return all, nil
	}
	v, err := decodeJSON(trimmed)
	if err != nil {
		return nil, fmt.Errorf("its output is no JSON: %w; where it prints other lines as well, let them go to standard error, or read its last line alone (output { format = %q })", err, formatLastLine)
	}
	return v, nil
}

// decodeJSON reads exactly one document.
func decodeJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, errors.New("it ends in the middle")
		}
		// Any document fits into any but for a number.
		if large := (*json.UnmarshalTypeError)(nil); errors.As(err, &large) {
			return nil, fmt.Errorf("the %s is too large to be read", large.Value)
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more follows the first document, at byte %d; print one document, or set format to %q or %q", d.InputOffset(), formatJSONL, formatLastLine)
	}
	return v, nil
}

// values runs the expression of one metric.
func (m commandMetric) values(ctx context.Context, document any) ([]float64, error) {
	code, err := observe.CompileJQ(m.JQ)
	if err != nil {
		return nil, err
	}
	ctx, cancel := observe.WithinJQ(ctx, jqLimit)
	defer cancel()
	var values []float64
	for iter := code.RunWithContext(ctx, document); ; {
		v, more := iter.Next()
		if !more {
			break
		}
		x, err := number(v)
		switch {
		case errors.Is(context.Cause(ctx), observe.ErrJQMemory):
			err = observe.ErrJQMemory
		case err != nil:
		case x < m.Min:
			err = fmt.Errorf("gives %v, which is below its min of %v", x, m.Min)
		case len(values) == maxValues:
			err = fmt.Errorf("gives more than %d values", maxValues)
		}
		if err != nil {
			return nil, err
		}
		values = append(values, x)
	}
	if len(values) == 0 {
		return nil, errors.New("gives no value")
	}
	return values, nil
}

// number reads one result of an expression: a finite number and nothing else.
func number(v any) (float64, error) {
	var x float64
	switch v := v.(type) {
	case error:
		var halt *gojq.HaltError
		if errors.As(v, &halt) && halt.Value() == nil {
			return 0, errors.New("gives no value: it halts")
		}
		if errors.Is(v, context.DeadlineExceeded) {
			return 0, fmt.Errorf("does not end within %s", jqLimit)
		}
		return 0, fmt.Errorf("fails: %w", v)
	case float64:
		x = v
	case int:
		x = float64(v)
	case *big.Int:
		x, _ = new(big.Float).SetInt(v).Float64()
	case nil:
		return 0, errors.New("gives null: there is no such value in the output")
	case string:
		return 0, fmt.Errorf("gives the text %q, not a number; tonumber turns text into one", cut(v))
	default:
		return 0, fmt.Errorf("gives %s, not a number", gojq.TypeOf(v))
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("gives %v, which is not a finite number", x)
	}
	return x, nil
}
