package steps

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/plans"
)

// The formats of a command's output.
const (
	formatJSON     = "json"
	formatJSONL    = "jsonl"
	formatLastLine = "last_line"
)

// command is what an engine of kind command prints and for how long it may run.
// Its JSON form is part of the measurement key.
type command struct {
	// File is what the command writes, relative to its working directory; empty
	// is its standard output.
	File    string          `json:"file"`
	Format  string          `json:"format"`
	Metrics []commandMetric `json:"metrics"`
	// Timeout does not change what is measured by the time the command ends.
	Timeout time.Duration `json:"-"`
}

// commandMetric is a metric block.
type commandMetric struct {
	Name   string  `json:"name"`
	JQ     string  `json:"jq"`
	Unit   string  `json:"unit"`
	Better string  `json:"better"`
	Min    float64 `json:"min"`
}

// metric is it in the terms of the catalogue; the path element "neither" stands
// for no direction.
func (m commandMetric) metric() measure.Metric {
	return plans.CommandMetric(m.Name, m.Unit, m.Better)
}

var outputPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc: "Where an engine of kind `command` leaves its JSON. Without this block it is all that the command prints to standard output. At most 64 MiB are read.",
		Example: `output {
  file   = "out/result.json"
  format = "json"
}`,
		Attrs: []plans.Attr{
			{Name: "file", Type: plans.String, Doc: "The file that the command writes, relative to its working directory. It must be written anew by every execution. Without it, standard output."},
			{Name: "format", Type: plans.String, Default: formatJSON, OneOf: []string{formatJSON, formatJSONL, formatLastLine}, Doc: "`json`: all of it is one document. `jsonl`: every line is a document, and the jq expressions see the list of them. `last_line`: the last line is the document, and what stands before it is not looked at."},
		},
		Check: func(b *plans.Block) []plans.AttrError {
			if file, ok := b.Attrs["file"].(string); ok && strings.TrimSpace(file) == "" {
				return []plans.AttrError{{Attr: "file", Code: "empty-value", Summary: "Empty file", Detail: "Name the file that the command writes, or remove file: then its standard output is read."}}
			}
			return nil
		},
	},
}

var metricPart = plans.Part{
	Label: "What rules call it: `command.<name>`.",
	Times: plans.AnyTimes,
	Schema: plans.Schema{
		Doc: "A number in the JSON of an engine of kind `command`. An expression that yields several numbers gives the launch several values, such as one a trial.",
		Example: `metric "tg" {
  jq     = ".results[].tg"
  unit   = "tok/s"
  better = "higher"
}`,
		Attrs: []plans.Attr{
			{Name: "jq", Type: plans.String, Required: true, Doc: "jq expression for its values. Anything but finite numbers, and nothing at all, makes the launch fail."},
			{Name: "unit", Type: plans.String, Required: true, Doc: "Its unit, such as `tok/s`, `ms`, `s`, `GB` or `count`."},
			{Name: "better", Type: plans.String, Required: true, OneOf: []string{"higher", "lower", "neither"}, Doc: "The direction in which it improves."},
			{Name: "min", Type: plans.Number, Default: 0.0, Doc: "Values below this are refused as broken. Set it for what may be negative."},
		},
		Check: checkMetricPart,
	},
}

func checkMetricPart(b *plans.Block) (errs []plans.AttrError) {
	if text, ok := b.Attrs["jq"].(string); ok {
		if _, err := observe.CompileJQ(text); err != nil {
			errs = append(errs, plans.AttrError{Attr: "jq", Code: "invalid-jq", Summary: "Invalid jq expression", Detail: fmt.Sprintf("%v. Write an expression that yields numbers, such as .results[].tg.", err)})
		}
	}
	if unit, ok := b.Attrs["unit"].(string); ok && strings.TrimSpace(unit) == "" {
		errs = append(errs, plans.AttrError{Attr: "unit", Code: "empty-value", Summary: "Empty unit", Detail: "Name the unit, such as tok/s, ms or GB; a plain number is a count."})
	}
	return errs
}

var runPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc: "How an engine of kind `command` is run.",
		Example: `run {
  timeout = "30m"
}`,
		Attrs: []plans.Attr{
			{Name: "timeout", Type: plans.Duration, Default: "30m", Doc: "After this the command is stopped, and the launch is an error."},
		},
		Check: func(b *plans.Block) []plans.AttrError {
			text, _ := b.Attrs["timeout"].(string)
			if d, err := time.ParseDuration(text); err == nil && d <= 0 {
				return []plans.AttrError{{Attr: "timeout", Code: "invalid-value", Summary: "Invalid timeout", Detail: "A command needs some time to run: write a duration above zero, such as \"30m\"."}}
			}
			return nil
		},
	},
}

// commandOf is what the plan says of an engine of kind command; nil for others.
func commandOf(e *plans.Engine) (*command, error) {
	if !e.IsCommand() {
		return nil, nil
	}
	c := &command{Format: formatJSON, Timeout: 30 * time.Minute}
	for _, b := range e.Parts["output"] {
		if err := b.Decode(c); err != nil {
			return nil, err
		}
	}
	for _, b := range e.Parts["run"] {
		var run struct {
			Timeout plans.Dur `json:"timeout"`
		}
		if err := b.Decode(&run); err != nil {
			return nil, err
		}
		c.Timeout = time.Duration(run.Timeout)
	}
	for _, b := range e.Parts["metric"] {
		m := commandMetric{Name: b.Name}
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
