// Package observe knows how to take what a running engine says of itself out of
// its log, its pages, its metrics and its files. What to look for it is told, by a
// kind or by a plan; what follows from it, it does not know.
package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
)

// observeLimit bounds one source of observations: a page, a file, a jq
// expression. An engine that has just answered requests answers these at once.
const observeLimit = 10 * time.Second

// All collects what a running engine says of itself, from its log, its
// pages, its metrics and its files. It is asked after the engine has answered
// requests, since much is decided at the first. There is one observation for each
// name, observed or with the reason why not; where several patterns have one
// name, the first that sees something counts. metrics is the path of the page
// with Prometheus metrics.
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

// observer keeps what was read already, so that nothing is asked twice.
type observer struct {
	inst    engine.Instance
	metrics string
	scan    *logscan.Scan
	// numbers are those of the log's expressions, by pattern.
	numbers map[int]int
	// wrong says why a pattern cannot be used, by pattern; unread why there is no
	// log.
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
	return missing(p, "the pattern names no source")
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
		if o.numbers[i], err = scan.Expressions(p.Log); err != nil {
			o.wrong[i] = err
		}
	}
	if len(o.numbers) == 0 {
		return
	}
	if o.inst.LogPath() == "" {
		o.unread = errors.New("the engine runs at an endpoint, and log_file names none")
		return
	}
	o.scan, o.unread = scan, scan.File(o.inst.LogPath())
}

// fromLog is what the log says. Where its middle was dropped, what is seen no
// more may have stood there: the last word is not known, nor is a count.
func (o *observer) fromLog(i int, p kinds.Pattern) Observation {
	switch {
	case o.wrong[i] != nil:
		return missing(p, "%v", o.wrong[i])
	case o.unread != nil:
		return missing(p, "the log cannot be read: %v", o.unread)
	case o.scan.Cut() && (p.Type == kinds.TypeCount || !o.scan.Kept()):
		return missing(p, "the middle of the log was dropped, and what the engine said there is not known")
	case o.scan.Lines() == 0:
		return missing(p, "the engine logged nothing")
	}
	found := o.scan.Found(o.numbers[i])
	if p.Type == kinds.TypeCount {
		return observed(p, found.Count, fmt.Sprintf("%d lines of the log", found.Count))
	}
	if found.Count == 0 {
		return missing(p, "no line of the log says it")
	}
	var said any = true
	if found.Grouped {
		said = found.Value
	}
	got := observed(p, said, fmt.Sprintf("log line %d", found.LineNo))
	got.Line = found.Line
	return got
}
