// Package imported reads the result files of other benchmark tools. The values
// keep each tool's own names, units and definitions: they stay separate from
// mxflow's, because tools that use the same word for different things mislead
// comparisons. It is a leaf: bytes in, values out.
//
// A file that is damaged, or does not match its format, is refused as a whole:
// half a result is no result.
package imported

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/jq"
)

// MaxSize is the maximum file size, in bytes.
const MaxSize = 256 << 20

type File struct {
	// Tool wrote it, in Version if it says so.
	Tool    string `json:"tool"`
	Version string `json:"version,omitempty"`
	// Model and Date are as in the file; empty if it does not say.
	Model string `json:"model,omitempty"`
	Date  string `json:"date,omitempty"`
	// Cells are what was measured, in the order of the file.
	Cells []Cell `json:"cells"`
	// Notes are what a reader of the numbers must know and might not see.
	Notes []string `json:"notes,omitempty"`
	// NotRead names numbers of the file that make no difference to these: a list's elements
	// are one, and what has only such numbers is named instead of them.
	NotRead []string `json:"not_read,omitempty"`
}

// Cell is one load that was measured.
type Cell struct {
	// Name is the element of rules' addresses: "pp2048_tg32_d4096_c4". It is
	// unique within the file.
	Name string `json:"name"`
	// What are the parameters by which the tool distinguishes it.
	What map[string]string `json:"what,omitempty"`
	// Differs has those that tell it from cells of the same load.
	Differs map[string]string `json:"differs,omitempty"`
	Metrics []Metric          `json:"metrics"`
}

// Metric is one quantity of a cell, as its tool defines it.
type Metric struct {
	// Name is the tool's own, without the statistic.
	Name       string         `json:"name"`
	Unit       string         `json:"unit,omitempty"`
	Better     measure.Better `json:"better,omitempty"`
	Definition string         `json:"definition"`
	// Stats are the statistics in the file, by name: mean, median, std, p99, …; "value"
	// is a single number.
	Stats map[string]float64 `json:"stats"`
	// N is the number of values behind them, 0 if the file does not say, and Values lists
	// them, if it has them.
	N      int       `json:"n,omitempty"`
	Values []float64 `json:"values,omitempty"`
	// Invalid says how the file marks itself as no result, and a rule that reads it is
	// inconclusive; empty if it does not.
	Invalid string `json:"invalid,omitempty"`
}

func (f *File) Lookup(cell, metric string) (Metric, bool) {
	for _, c := range f.Cells {
		for _, m := range c.Metrics {
			if c.Name == cell && m.Name == metric {
				return m, true
			}
		}
	}
	return Metric{}, false
}

// StatNames are the statistics of a metric, in the order in which people read
// them.
func (m Metric) StatNames() []string {
	order := []string{"max", "min", "std", "p50", "median", "mean", "value"}
	return slices.SortedFunc(maps.Keys(m.Stats), func(a, b string) int {
		return cmp.Or(slices.Index(order, b)-slices.Index(order, a), len(a)-len(b), strings.Compare(a, b))
	})
}

// Format is a jq program that makes rows of result files, and so a File.
type Format struct {
	// Name is the tool's, and Written how it writes the file.
	Name, Written         string
	known, reads, unreads func() (*gojq.Code, error)
}

//go:embed formats/*.jq
var programs embed.FS

//go:embed formats/common.jq
var common string

// Formats are those of known tools. Exactly one of them recognises a file of its tool.
var Formats = sync.OnceValue(func() (all []*Format) {
	paths, _ := fs.Glob(programs, "formats/*.jq")
	for _, path := range paths {
		text, _ := programs.ReadFile(path)
		if f, err := parse(string(text)); err != nil {
			panic(err) // which a test would have seen
		} else if f.Written != "" {
			all = append(all, f)
		}
	}
	return all
})

// Tools names the supported tools, for messages and docs. It compiles no program, as help
// needs them at each start of mxflow.
func Tools() (names []string) {
	paths, _ := fs.Glob(programs, "formats/*.jq")
	for _, path := range paths {
		text, _ := programs.ReadFile(path)
		if tool, file := jq.Module(string(text)); tool != "" {
			names = append(names, tool+" ("+file+")")
		}
	}
	return names
}

// ParseFormat reads a program. It may name its tool, "module {tool: …, file: …};", and
// define knows, which is true of a result of it. It sees no environment and no file.
func ParseFormat(name, text string) (*Format, error) {
	f, err := parse(text)
	if err == nil {
		_, reads := f.reads()
		_, unreads := f.unreads()
		err = cmp.Or(reads, unreads)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: it is no jq program: %w", name, err)
	}
	return f, nil
}

// parse compiles nothing yet: a file is read by one of sixteen formats.
func parse(text string) (*Format, error) {
	base, err := gojq.Parse(common)
	q, wrong := gojq.Parse(text)
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	f := &Format{Name: "a tool of your own"}
	q.Meta = nil
	if tool, file := jq.Module(text); tool != "" {
		f.Name, f.Written = tool, file
	}
	calling := func(function string, args ...*gojq.Query) *gojq.Term {
		return &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: function, Args: args}}
	}
	compiled := func(function string, arg *gojq.Query) func() (*gojq.Code, error) {
		return sync.OnceValues(func() (*gojq.Code, error) {
			return gojq.Compile(&gojq.Query{FuncDefs: base.FuncDefs, Term: calling(function, arg)})
		})
	}
	f.known = compiled("known", &gojq.Query{FuncDefs: q.FuncDefs, Term: calling("knows")})
	f.reads, f.unreads = compiled("file", q), compiled("unread", q)
	return f, nil
}

// run gives all results of a program.
func run(compiled func() (*gojq.Code, error), input any) (all []any, err error) {
	code, err := compiled()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), jq.Limit)
	defer cancel()
	return jq.Run(ctx, code, input)
}

// Read reads a result file by its own format or, if that is nil, by the one that recognises
// it; if all is set, it names what was not read. The error says what is wrong where, and
// what to do.
func Read(file string, data []byte, own *Format, all bool) (*File, error) {
	docs, format, err := open(file, data, own, Formats())
	if err != nil {
		return nil, errors.New(foreign.Line(file + err.Error()))
	}
	made, err := run(format.reads, docs)
	f := &File{}
	if err == nil && len(made) == 1 {
		var text []byte
		if text, err = json.Marshal(made[0]); err == nil { // which refuses NaN and infinity
			err = json.Unmarshal(text, f)
		}
	}
	if err != nil || len(f.Cells) == 0 {
		return nil, errors.New(foreign.Line(fmt.Sprintf("%s: %v", file, err)))
	}
	if f.Tool = cmp.Or(f.Tool, format.Name); all {
		if made, err = run(format.unreads, docs); err != nil {
			f.Notes = append(f.Notes, "which numbers were not read is unknown: "+err.Error())
		}
		for _, name := range made {
			f.NotRead = append(f.NotRead, foreign.Line(fmt.Sprint(name)))
		}
	}
	return f, nil
}

// open decodes a file, and finds the format that recognises it if it has none of its own.
// An error begins with its place in the file.
func open(file string, data []byte, own *Format, formats []*Format) (docs []any, f *Format, err error) {
	switch {
	case len(data) > MaxSize:
		return nil, nil, fmt.Errorf(": it has %d bytes, more than the limit of %d", len(data), MaxSize)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, nil, errors.New(": it is empty")
	case !utf8.Valid(data):
		return nil, nil, errors.New(": it is not UTF-8 text")
	}
	// SGLang writes Infinity and NaN, which are not JSON: they are read as null, and so as absent.
	clean := bareWord.ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
	for d := json.NewDecoder(bytes.NewReader(clean)); ; {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			offset, says := d.InputOffset(), foreign.NotJSON(clean, err).Error()
			if at, ok := errors.AsType[*json.SyntaxError](err); ok {
				offset, says = at.Offset, "it is not JSON: "+says
			}
			if len(docs) == 0 {
				says += ". mxflow reads: " + strings.Join(Tools(), "; ")
			}
			return nil, nil,
				fmt.Errorf(":%d: %s", 1+bytes.Count(clean[:min(int(offset), len(clean))], []byte("\n")), says)
		}
		docs = append(docs, v)
	}
	if own != nil {
		return docs, own, nil
	}
	for _, f := range formats {
		switch known, err := run(f.known, docs); {
		case err != nil, len(known) != 1, known[0] == 0:
		case known[0] == -1:
			return docs, f, nil
		default:
			return nil, nil,
				fmt.Errorf(": result %v: it is not a result of %s like the first in the file", known[0], f.Name)
		}
	}
	first := docs[0]
	if list, ok := first.([]any); ok && len(list) > 0 {
		first = list[0]
	}
	object, _ := first.(map[string]any)
	names := slices.Sorted(maps.Keys(object))
	return nil, nil, fmt.Errorf(": unknown format, with the keys %q. Write a jq program for it, --jq or jq = \"…\": "+
		`.runs[] | {workload: .name, metric: "tg", value: .tok_s, unit: "tok/s"}. mxflow reads: %s`,
		names[:min(len(names), 8)], strings.Join(Tools(), "; "))
}

// bareWord matches Infinity, -Infinity and NaN, and strings, in which they are text.
var bareWord = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)
