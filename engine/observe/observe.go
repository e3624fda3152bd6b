// Package observe extracts what a running engine reports about itself from its log, its
// pages, its metrics and its files. A kind or a plan specifies what to look for; the
// package does not know what follows from it.
package observe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
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
	o := observer{inst: inst, metrics: metrics, pages: map[string]*page{}, files: map[string]*page{}}
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

// observer keeps what was already read, so that nothing is asked twice.
type observer struct {
	inst    engine.Instance
	metrics string
	scan    *logscan.Scan
	// numbers are those of the log's expressions, by pattern.
	numbers map[int]int
	// wrong is why a pattern cannot be used, by pattern; unread why there is no log.
	wrong  map[int]error
	unread error

	pages, files map[string]*page
	series       *seriesPage
}

func (o *observer) one(ctx context.Context, i int, p kinds.Pattern) Observation {
	switch {
	case len(p.Log) > 0:
		return o.fromLog(i, p)
	case p.File != "":
		return o.fromJSON(ctx, p, o.file(ctx, p.File))
	case p.Path != "":
		return o.fromJSON(ctx, p, o.page(ctx, p.Path))
	case len(p.Metric) > 0:
		return o.fromMetric(ctx, p)
	}
	return missing(p, "the pattern has no source")
}

// scanLog reads the log once for all patterns.
func (o *observer) scanLog(patterns []kinds.Pattern) {
	o.numbers, o.wrong = map[int]int{}, map[int]error{}
	scan, err := logscan.New(nil)
	if err != nil {
		o.unread = err
		return
	}
	for i, p := range patterns {
		if len(p.Log) == 0 {
			continue
		}
		o.numbers[i], err = scan.Expressions(p.Log)
		if err == nil {
			err = scan.Narrow(o.numbers[i], p.First, p.Anew)
		}
		if err != nil {
			o.wrong[i] = err
		}
	}
	if len(o.numbers) == 0 {
		return
	}
	if o.inst.LogPath() == "" {
		o.unread = errors.New("the engine runs at an endpoint, whose log is not here")
		return
	}
	o.scan, o.unread = scan, scan.File(o.inst.LogPath())
}

// fromLog is what the log reports. If its middle was dropped, what is not in it may have
// been there: neither the last value nor a count is known.
func (o *observer) fromLog(i int, p kinds.Pattern) Observation {
	switch {
	case o.wrong[i] != nil:
		return missing(p, "%v", o.wrong[i])
	case o.unread != nil:
		return missing(p, "cannot read the log: %v", o.unread)
	case o.scan.Cut() && (p.Type == kinds.TypeCount || !o.scan.Kept()):
		return missing(p, "the middle of the log was dropped")
	case o.scan.Lines() == 0:
		return missing(p, "the engine logged nothing")
	}
	found := o.scan.Found(o.numbers[i])
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
	got := observed(p, said, fmt.Sprintf("log line %d", found.LineNo))
	got.Line, got.LineNo, got.At, got.To, got.Whole, got.Shows = found.Line, found.LineNo, found.At, found.To, found.Whole, p.Shows()
	return got
}

// fromMetric is the value of the first of the pattern's names that the engine has. Names
// are matched exactly: a prefix would also catch _created and _per_pos_total. Differing
// series are not added up, since gauges are repeated for each rank.
func (o *observer) fromMetric(ctx context.Context, p kinds.Pattern) Observation {
	if o.metrics == "" {
		return missing(p, "this kind of engine has no metrics page")
	}
	if o.series == nil {
		o.series = &seriesPage{}
		text := o.page(ctx, o.metrics)
		if o.series.err = text.err; text.err == nil {
			o.series.byName, o.series.err = parseMetrics(text.text)
		}
	}
	if o.series.err != nil {
		return missing(p, "GET %s: %v", o.metrics, o.series.err)
	}
	for _, name := range p.Metric {
		all := o.series.byName[name]
		if len(all) == 0 {
			continue
		}
		var fit []series
		for _, s := range all {
			if s.fits(p.Labels) {
				fit = append(fit, s)
			}
		}
		if len(fit) == 0 {
			return missing(p, "none of the %d series of metric %s has labels %s", len(all), name, labelText(p.Labels))
		}
		for _, s := range fit {
			if math.IsNaN(s.value) || math.IsInf(s.value, 0) {
				found := missing(p, `metric %s: "%v" is not a finite number`, name, s.value)
				found.NotFinite = name
				return found
			}
		}
		for _, s := range fit[1:] {
			if s.value != fit[0].value {
				found := missing(p, "metric %s has %d different series (%s is %v, %s is %v): choose one with labels",
					name, len(fit), labelText(fit[0].labels), fit[0].value, labelText(s.labels), s.value)
				found.Ambiguous = true
				return found
			}
		}
		return observed(p, fit[0].value, "metric "+name)
	}
	return missing(p, "GET %s has no metric %s", o.metrics, strings.Join(p.Metric, " or "))
}

// page asks the engine for a page of its API, once.
func (o *observer) page(ctx context.Context, path string) *page {
	p := o.pages[path]
	if p == nil {
		p = &page{from: "GET " + path}
		p.text, p.err = Page(ctx, o.inst.Access(), path)
		o.pages[path] = p
	}
	return p
}

// file reads a file where the engine lives, once. It is cut there, so that no huge file
// is transferred.
func (o *observer) file(ctx context.Context, path string) *page {
	p := o.files[path]
	if p == nil {
		p = &page{from: "file " + path}
		ctx, cancel := context.WithTimeout(ctx, observeLimit)
		defer cancel()
		p.text, p.err = o.inst.Output(ctx, "head", "-c", strconv.Itoa(maxPage+1), "--", path)
		switch {
		case errors.Is(p.err, engine.ErrElsewhere):
		case p.err != nil:
			p.err = fmt.Errorf("cannot read it: %w", p.err)
		case len(p.text) > maxPage:
			p.err = fmt.Errorf("it is larger than %d MiB", maxPage>>20)
		}
		o.files[path] = p
	}
	return p
}

// fromJSON extracts one value from a page with the pattern's jq expression.
func (o *observer) fromJSON(ctx context.Context, p kinds.Pattern, from *page) Observation {
	content, err := from.json()
	if err != nil {
		return missing(p, "%s: %v", from.from, err)
	}
	value, err := RunJQ(ctx, p.JQ, content)
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
	text, isText := scalar(raw)
	if !isText {
		if raw == nil {
			return nil, "there is no such value"
		}
		return nil, fmt.Sprintf("it is %s, not a single value", shapeOf(raw))
	}
	if _, decided := raw.(bool); !decided { // Words do not apply to a bool
		text = word(p, strings.TrimSpace(text))
	}
	if text == "" {
		return nil, "it is empty"
	}
	switch p.Type {
	case kinds.TypeNumber, kinds.TypeCount:
		return numeric(p, text)
	case kinds.TypeBool:
		switch strings.ToLower(text) {
		case "true", "yes", "on", "1":
			return true, ""
		case "false", "no", "off", "0":
			return false, ""
		}
		return nil, fmt.Sprintf("%q is neither true nor false", text)
	}
	return logscan.Clean(text), ""
}

// word is what rules call a word of the engine.
func word(p kinds.Pattern, said string) string {
	if w, ok := p.Words[said]; ok {
		return w
	}
	return said
}

// numeric parses a number as engines print it, with commas between thousands.
func numeric(p kinds.Pattern, text string) (any, string) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return nil, fmt.Sprintf("%q is not a number", logscan.Clean(text))
	}
	if p.Scale != 0 {
		f *= p.Scale
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Sprintf("%q is not a finite number", logscan.Clean(text))
	}
	return f, ""
}

// scalar is a JSON scalar as text; false for anything else.
func scalar(raw any) (string, bool) {
	switch v := raw.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case *big.Int:
		return v.String(), true
	}
	return "", false
}

func shapeOf(raw any) string {
	switch raw.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return fmt.Sprintf("%T", raw)
}
