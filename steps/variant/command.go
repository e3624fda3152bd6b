package variant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans"
)

const (
	FormatJSON     = "json"
	formatJSONL    = "jsonl"
	formatLastLine = "last_line"
)

// Command is an engine of kind command: what it prints and how long it may run. Its JSON
// form is part of the measurement key.
type Command struct {
	// File is the file that the command writes, relative to its working directory; empty
	// is its standard output.
	File    string   `json:"file" hcl:"file,optional" filled:"true" doc:"File that the command writes, relative to its working directory. Every execution must write it again. Without it, standard output."`
	Format  string   `json:"format" hcl:"format,optional" oneof:"json|jsonl|last_line" default:"json" doc:"One document, one per line, or the last line. With 'jsonl', jq expressions see a list of the documents."`
	Metrics []Metric `json:"metrics"`
	// Timeout does not affect measurements of a command that has ended.
	Timeout time.Duration `json:"-"`
}

type Metric struct {
	Name   string  `json:"name"`
	JQ     string  `json:"jq" hcl:"jq" doc:"jq expression for its values. Anything but finite numbers, or no value, makes the launch fail."`
	Unit   string  `json:"unit" hcl:"unit,optional" unless:"as" filled:"true" doc:"Its unit, such as 'tok/s', 'ms', 's', 'GB' or 'count'. Required without 'as'."`
	Better string  `json:"better" hcl:"better,optional" oneof:"higher|lower|neither" unless:"as" doc:"Its better direction. Required without 'as'."`
	Min    float64 `json:"min" hcl:"min,optional" default:"0" doc:"Values below this are refused as broken. Set it for values that can be negative."`
	// As is the workload metric that it is.
	As string `json:"as,omitempty" hcl:"as,optional" doc:"The workload metric that it corresponds to, such as 'tg'. It has the same unit and direction, and is compared with it across engines."`
}

// CommandMetrics are the metrics of the command.
func (c *Command) CommandMetrics() (all []plans.CommandMetric) {
	for _, m := range c.Metrics {
		metric, _ := plans.NewCommandMetric(m.Name, m.As, m.Unit, m.Better) // checked when the plan was loaded
		all = append(all, metric)
	}
	return all
}

var outputPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc: "Where an engine of kind `command` leaves its JSON. Without this block, it is the command's whole " +
			"standard output. At most 64 MiB are read.",
		Example: plans.Example(examples, `output {`),
		Attrs:   plans.Attrs(Command{}),
	},
}

var metricPart = plans.Part{
	Label: "Its name in rules: `command.<name>`.",
	Times: plans.AnyTimes,
	Schema: plans.Schema{
		Doc: "A number in the JSON of an engine of kind `command`. An expression that yields several numbers " +
			"gives the launch several values, such as one per trial.",
		Example: plans.Example(examples, `metric "tg" {`),
		Attrs:   plans.Attrs(Metric{}),
		Check: func(b *plans.Block) (errs []plans.AttrError) {
			if _, wrong := plans.CommandMetricOf(b); wrong != nil {
				return append(errs, *wrong)
			}
			if text, ok := b.Attrs["jq"].(string); ok {
				if _, err := observe.CompileJQ(text); err != nil {
					errs = append(errs,
						plans.AttrError{
							Attr: "jq", Code: "invalid-jq", Summary: "Invalid jq expression",
							Detail: fmt.Sprintf("%v. Write an expression that yields numbers, such as .results[].tg.",
								err),
						})
				}
			}
			return errs
		},
	},
}

type runConfig struct {
	Timeout plans.Dur `hcl:"timeout,optional" default:"30m" doc:"Time limit. Then the command is stopped and the launch is an error."`
}

var runPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc:     "How an engine of kind `command` is run.",
		Example: plans.Example(examples, `run {`),
		Attrs:   plans.Attrs(runConfig{}),
	},
}

// commandOf is an engine of kind command as the plan has it; nil for others.
func commandOf(e *plans.Engine) (*Command, error) {
	if !e.IsCommand() {
		return nil, nil
	}
	c, err := DecodeOutput(e.Parts)
	if err != nil {
		return nil, err
	}
	c.Timeout = 30 * time.Minute
	for _, b := range e.Parts["run"] {
		var run runConfig
		if err := b.Decode(&run); err != nil {
			return nil, err
		}
		c.Timeout = time.Duration(run.Timeout)
	}
	return c, nil
}

// ProgramParts are the blocks of a program that is not an engine: where it writes its
// JSON, and the numbers in it, which have no other metric's name.
func ProgramParts(called string) map[string]plans.Part {
	output, metric := outputPart, metricPart
	output.Doc = "Where the program leaves its JSON. Without this block, it is the program's whole standard output. " +
		"At most 64 MiB are read."
	output.Attrs = slices.Clone(output.Attrs)
	output.Attrs[0].Doc = "The file that the program writes, relative to `$MXFLOW_OUT`. Without it, standard output."
	metric.Label, metric.Doc = called,
		"A number in the JSON of the program. If the expression yields several, the median is used."
	metric.Example = `metric "exact_match" {
  jq     = ".results.gsm8k.exact_match"
  unit   = "share"
  better = "higher"
}`
	metric.Attrs = slices.DeleteFunc(slices.Clone(metric.Attrs), func(a plans.Attr) bool { return a.Name == "as" })
	for i, a := range metric.Attrs {
		metric.Attrs[i].Doc = strings.TrimSuffix(a.Doc, " Required without `as`.")
		metric.Attrs[i].Required = a.Name != "min"
	}
	return map[string]plans.Part{"output": output, "metric": metric}
}

// DecodeOutput decodes such blocks of a program, or those of an engine of kind command.
func DecodeOutput(parts map[string][]*plans.Block) (*Command, error) {
	c := &Command{Format: FormatJSON}
	for _, b := range parts["output"] {
		if err := b.Decode(c); err != nil {
			return nil, err
		}
	}
	for _, b := range parts["metric"] {
		m := Metric{Name: b.Name}
		if err := b.Decode(&m); err != nil {
			return nil, err
		}
		c.Metrics = append(c.Metrics, m)
	}
	if c.File != "" {
		c.File = filepath.Clean(c.File)
	}
	return c, nil
}

const (
	// MaxOutput is how much JSON of a command is read, in bytes.
	MaxOutput = 64 << 20
	// maxValues is how many values one metric may have in a launch.
	maxValues = 1 << 20
	// jqLimit is how long one expression may run: some never end, such as repeat(1).
	jqLimit = 20 * time.Second
)

// ReadOutput reads a file of up to maxOutput bytes.
func ReadOutput(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read its output: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxOutput+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read its output: %w", err)
	}
	if len(text) > MaxOutput {
		return nil,
			fmt.Errorf("its output is larger than %d MiB; print only the requested numbers, and the rest to standard "+
				"error", MaxOutput>>20)
	}
	return text, nil
}

// Values extracts every metric from a command's output, by address, in the order of the
// plan's expression. The error is one sentence about the first mistake.
func (c *Command) Values(ctx context.Context, text []byte) (map[string][]float64, error) {
	document, err := c.document(text)
	if err != nil {
		return nil, err
	}
	out := map[string][]float64{}
	for _, m := range c.Metrics {
		if out[plans.CommandKind+"."+m.Name], err = m.values(ctx, document); err != nil {
			return nil, fmt.Errorf("metric %s (%s): %w", m.Name, m.JQ, err)
		}
	}
	return out, nil
}

// ReadMetrics are the metrics in a command's output, by address.
func (c *Command) ReadMetrics(ctx context.Context, text []byte) (map[string]measure.Summary, error) {
	values, err := c.Values(ctx, text)
	if err != nil {
		return nil, err
	}
	out := map[string]measure.Summary{}
	for _, m := range c.CommandMetrics() {
		summary, ok := m.Summary(values[m.Address()])
		if !ok {
			return nil, fmt.Errorf("metric %s has no finite values", m.Name)
		}
		summary.Requests, summary.As = len(values[m.Address()]), m.As
		out[m.Address()] = summary
	}
	return out, nil
}

// document is the output as the expressions see it.
func (c *Command) document(text []byte) (any, error) {
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("it printed nothing; JSON was expected")
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
			return nil, fmt.Errorf("its last line is not JSON: %w", err)
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
				return nil, fmt.Errorf("line %d of its output is not JSON: %w", line, err)
			}
			all = append(all, v)
		}
		return all, nil
	}
	v, err := decodeJSON(trimmed)
	if err != nil {
		return nil,
			fmt.Errorf("its output is not JSON: %w; if it prints other lines too, send them to standard error, or "+
				"read only its last line (output block, format %q)", err, formatLastLine)
	}
	return v, nil
}

// decodeJSON reads exactly one document.
func decodeJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	var v any
	if err := d.Decode(&v); err != nil {
		// Any JSON document fits into any, except numbers out of range.
		if large := (*json.UnmarshalTypeError)(nil); errors.As(err, &large) {
			return nil, fmt.Errorf("the %s is too large to be read", large.Value)
		}
		return nil, foreign.NotJSON(text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil,
			fmt.Errorf("more follows the first document, at byte %d; print one document, or set format to %q or %q",
				d.InputOffset(), formatJSONL, formatLastLine)
	}
	return v, nil
}

// values runs the expression of one metric.
func (m Metric) values(ctx context.Context, document any) ([]float64, error) {
	code, err := observe.CompileJQ(m.JQ)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, jqLimit)
	defer cancel()
	var values []float64
	for iter := code.RunWithContext(ctx, document); ; {
		v, more := iter.Next()
		if !more {
			break
		}
		x, err := number(v)
		switch {
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
		if halt, ok := errors.AsType[*gojq.HaltError](v); ok && halt.Value() == nil {
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
		return 0, fmt.Errorf("gives the text %q, not a number; tonumber turns text into one", foreign.Short(v))
	default:
		return 0, fmt.Errorf("gives %s, not a number", gojq.TypeOf(v))
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("gives %v, which is not a finite number", x)
	}
	return x, nil
}

func (c *Command) Path(dir string) string {
	if filepath.IsAbs(c.File) {
		return c.File
	}
	return filepath.Join(dir, c.File)
}
