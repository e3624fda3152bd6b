// Package observe extracts a running engine's reports about itself from its log, its
// pages, its metrics and its files, by the patterns of a kind or a plan.
package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/internal/foreign"
)

// observeLimit bounds one source of observations: a page, a file, a jq expression. An
// engine that has just answered requests answers these at once.
const observeLimit = 10 * time.Second

// All collects what a running engine reports about itself, from its log, its pages, its
// metrics and its files. Call it after the engine has answered requests, since much is
// decided at the first. There is one observation for each name, observed or with the
// reason why not; if several patterns share a name, the first that sees something counts.
// metrics is the path of the page with Prometheus metrics.
func All(ctx context.Context, inst engine.Instance, metrics string, patterns []kinds.Pattern) []Observation {
	o := observer{inst: inst, metrics: metrics, pages: map[string]*page{}}
	o.scanLog(patterns)
	var all []Observation
	at := map[string]int{}
	for i, p := range patterns {
		n, seen := at[p.Name]
		if seen && all[n].Missing == "" {
			continue
		}
		got := o.one(ctx, i, p)
		switch {
		case !seen:
			at[p.Name] = len(all)
			all = append(all, got)
		case got.Missing == "":
			all[n] = got
		case !strings.Contains(all[n].Missing, got.Missing):
			all[n].Missing += "; " + got.Missing
		}
	}
	return all
}

// observer keeps what was already read, so nothing is asked twice.
type observer struct {
	inst    engine.Instance
	metrics string
	scan    *logscan.Scan
	// numbers are the indexes of the log's expressions, by pattern.
	numbers map[int]int
	// wrong is why a pattern cannot be used, by pattern; unread why there is no log.
	wrong  map[int]error
	unread error
	// pages are pages and files by what they are called.
	pages map[string]*page
	// series are the lines of the page of metrics by exact name, or unlisted why there are none.
	series   map[string][]machine.Metric
	unlisted error
}

// page is the text of a page or a file, or why there is none.
type page struct {
	from string
	text []byte
	err  error
	// value is the decoded JSON, once decoded is set.
	value   any
	decoded bool
}

func (o *observer) one(ctx context.Context, i int, p kinds.Pattern) Observation {
	switch {
	case len(p.Log) > 0:
		return o.fromLog(i, p)
	case p.File != "":
		return o.fromJSON(ctx, p, o.page("file "+p.File, func() ([]byte, error) { return o.file(ctx, p.File) }))
	case p.Path != "":
		return o.fromJSON(ctx, p, o.get(ctx, p.Path))
	case len(p.Metric) > 0:
		return o.fromMetric(ctx, p)
	}
	return missing(p, "the pattern has no source")
}

func (o *observer) scanLog(patterns []kinds.Pattern) {
	o.scan, o.numbers, o.wrong = &logscan.Scan{}, map[int]int{}, map[int]error{}
	for i, p := range patterns {
		if len(p.Log) > 0 {
			o.numbers[i], o.wrong[i] = o.scan.Add(logscan.Expressions{
				Any: p.Log, First: p.First,
				Anew: p.Anew, Each: p.Each,
			})
		}
	}
	switch path := o.inst.LogPath(); {
	case len(o.numbers) == 0:
	case path == "":
		o.unread = errors.New("the engine runs at an endpoint, whose log is not here")
	default:
		o.unread = o.scan.File(path)
	}
}

// fromLog reads an observation from the log. If the middle of the log was dropped, a
// missing line may have been there: neither the last value nor a count is known.
func (o *observer) fromLog(i int, p kinds.Pattern) Observation {
	switch {
	case o.wrong[i] != nil:
		return missing(p, "%v", o.wrong[i])
	case o.unread != nil:
		return missing(p, "cannot read the log: %v", o.unread)
	case o.scan.Cut() && (p.Type == kinds.TypeCount || !o.scan.HasEvidence()):
		return missing(p, "the middle of the log was dropped")
	case o.scan.Lines() == 0:
		return missing(p, "the engine logged nothing")
	}
	found := o.scan.LastMatch(o.numbers[i])
	if p.Type == kinds.TypeCount {
		return observed(p, found.Count, fmt.Sprintf("%d lines of the log", found.Count))
	}
	if found.Count == 0 {
		return missing(p, "no line of the log matches")
	}
	var said any = true
	if found.Grouped {
		said = found.Value
	}
	if p.Each {
		for i, value := range found.Values {
			if word, ok := p.Words[value]; ok {
				found.Values[i] = word
			}
		}
		slices.Sort(found.Values)
		said = strings.Join(slices.Compact(found.Values), " + ")
	}
	got := observed(p, said, fmt.Sprintf("log line %d", found.LineNo))
	got.Line, got.LineNo, got.At, got.To, got.Whole, got.Shows = found.Line, found.LineNo, found.At, found.To,
		found.Whole, p.Shows()
	return got
}

// fromMetric is the value of the first of the pattern's names that the engine has. Names
// are matched exactly: a prefix would also catch _created and _per_pos_total. Differing
// series are not added up, since gauges are repeated for each rank.
func (o *observer) fromMetric(ctx context.Context, p kinds.Pattern) Observation {
	if o.metrics == "" {
		return missing(p, "this kind of engine has no metrics page")
	}
	if o.series == nil && o.unlisted == nil {
		text := o.get(ctx, o.metrics)
		lines, _, wrong := machine.ParseMetrics(string(text.text), nil)
		switch o.series = map[string][]machine.Metric{}; {
		case text.err != nil:
			o.unlisted = text.err
		case wrong != nil && len(lines) == 0: // one that cannot be read beside others is not there
			o.unlisted = fmt.Errorf("it is not a page of Prometheus metrics: %w", wrong)
		}
		for _, l := range lines {
			o.series[l.Name] = append(o.series[l.Name], l)
		}
	}
	if o.unlisted != nil {
		return missing(p, "GET %s: %v", o.metrics, o.unlisted)
	}
	for _, name := range p.Metric {
		all := o.series[name]
		if len(all) == 0 {
			continue
		}
		fit := slices.DeleteFunc(slices.Clone(all), func(m machine.Metric) bool {
			for label, want := range p.Labels {
				if m.Labels[label] != want {
					return true
				}
			}
			return false
		})
		if len(fit) == 0 {
			return missing(p, "none of the %d series of metric %s has labels %s", len(all), name, labelText(p.Labels))
		}
		for _, s := range fit {
			if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
				found := missing(p, `metric %s: "%v" is not a finite number`, name, s.Value)
				found.NotFinite = name
				return found
			}
		}
		for _, s := range fit[1:] {
			if s.Value != fit[0].Value {
				found := missing(p, "metric %s has %d different series (%s is %v, %s is %v): choose one with labels",
					name, len(fit), labelText(fit[0].Labels), fit[0].Value, labelText(s.Labels), s.Value)
				found.Ambiguous = true
				return found
			}
		}
		return observed(p, fit[0].Value, "metric "+name)
	}
	return missing(p, "GET %s has no metric %s", o.metrics, strings.Join(p.Metric, " or "))
}

func labelText(labels map[string]string) string {
	var out []string
	for name, value := range labels {
		out = append(out, fmt.Sprintf("%s=%q", name, value))
	}
	slices.Sort(out)
	return "{" + strings.Join(out, ",") + "}"
}

// page reads a page or a file, once.
func (o *observer) page(from string, read func() ([]byte, error)) *page {
	if o.pages[from] == nil {
		text, err := read()
		o.pages[from] = &page{from: from, text: text, err: err}
	}
	return o.pages[from]
}

// get asks the engine for a page of its API.
func (o *observer) get(ctx context.Context, path string) *page {
	return o.page("GET "+path, func() ([]byte, error) { return Page(ctx, o.inst.Access(), path) })
}

// file reads a file where the engine lives. It is cut there, so no huge file is
// transferred.
func (o *observer) file(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	text, err := o.inst.Output(ctx, "head", "-c", strconv.Itoa(maxPage+1), "--", path)
	switch {
	case errors.Is(err, engine.ErrElsewhere):
	case err != nil:
		err = fmt.Errorf("cannot read it: %w", err)
	case len(text) > maxPage:
		err = fmt.Errorf("it is larger than %d MiB", maxPage>>20)
	}
	return text, err
}

// fromJSON extracts one value from a page with the pattern's jq expression.
func (o *observer) fromJSON(ctx context.Context, p kinds.Pattern, from *page) Observation {
	if from.err == nil && !from.decoded {
		from.decoded = true
		if json.Unmarshal(from.text, &from.value) != nil {
			from.err = fmt.Errorf("it is not JSON: it starts with %q", foreign.CleanTo(from.text, 60))
		}
	}
	value, err := from.value, from.err
	if err == nil {
		value, err = RunJQ(ctx, p.JQ, value)
	}
	if err != nil {
		return missing(p, "%s: %v", from.from, err)
	}
	return observed(p, value, from.from)
}

// Observation is one thing that an engine reported about itself, or why it is unknown.
type Observation struct {
	// Name and Unit are the Pattern's.
	Name, Unit string
	// Value is a string, a float64 or a bool; nil if it was not observed: a missing value
	// is never zero.
	Value any
	// From is where it was seen: "log line 12", "GET /version", "metric x".
	From string
	// Line is the line of the log that reports it, safe to print, and LineNo its number;
	// empty and 0 for other sources. The value is in it from At to To; Whole means that
	// nothing was cut off. Shows means that it shows what is in effect, whenever it was
	// logged.
	Line   string
	LineNo int
	At, To int
	Whole  bool
	Shows  bool
	// Missing is why there is no value; empty if there is one.
	Missing string
	// NotFinite is the metric that is NaN or infinite; empty if none is.
	NotFinite string
	// Ambiguous means that there is more than one, and nothing chooses among them.
	Ambiguous bool
}

// observed is the observation of a value that was found; one that does not have the
// pattern's type is missing.
func observed(p kinds.Pattern, raw any, from string) Observation {
	o := Observation{Name: p.Name, Unit: p.Unit, From: from}
	v, why := typed(p, raw)
	if why != "" {
		o.Missing = from + ": " + why
		return o
	}
	o.Value = v
	return o
}

// missing is an observation without a value.
func missing(p kinds.Pattern, format string, args ...any) Observation {
	return Observation{Name: p.Name, Unit: p.Unit, Missing: fmt.Sprintf(format, args...)}
}

// typed converts what was found to the pattern's type; if it cannot, why is the reason.
func typed(p kinds.Pattern, raw any) (value any, why string) {
	var text string
	switch v := raw.(type) {
	case nil:
		return nil, "there is no such value"
	case map[string]any:
		return nil, "it is an object, not a single value"
	case []any:
		return nil, "it is a list, not a single value"
	case bool: // Words do not apply
		text = strconv.FormatBool(v)
	default: // a string, an int, a *big.Int
		text = strings.TrimSpace(fmt.Sprint(v))
		if f, ok := v.(float64); ok {
			text = strconv.FormatFloat(f, 'f', -1, 64)
		}
		if w, ok := p.Words[text]; ok {
			text = w
		}
	}
	switch {
	case text == "":
		return nil, "it is empty"
	case p.Type == kinds.TypeNumber, p.Type == kinds.TypeCount:
		// As engines print it, with commas between thousands.
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil {
			return nil, fmt.Sprintf("%q is not a number", foreign.Clean(text))
		}
		if p.Scale != 0 {
			f *= p.Scale
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Sprintf("%q is not a finite number", foreign.Clean(text))
		}
		return f, ""
	case p.Type == kinds.TypeBool:
		switch strings.ToLower(text) {
		case "true", "yes", "on", "1":
			return true, ""
		case "false", "no", "off", "0":
			return false, ""
		}
		return nil, fmt.Sprintf("%q is neither true nor false", text)
	}
	return foreign.Clean(text), ""
}
