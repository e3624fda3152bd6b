package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/mxflow/mxflow/engine/logscan"
)

const (
	// pollLimit bounds one reading of the engine's page, markLimit one at the edge of a
	// cell, maxPage the page's size in bytes.
	pollLimit = 2 * time.Second
	markLimit = 5 * time.Second
	maxPage   = 8 << 20
	// share is the inverse of the part of the time that readings may take, slowest the
	// longest pause between two of them even so.
	share   = 10
	slowest = 2 * time.Second
)

// pageReader reads an engine's page of metrics.
type pageReader struct {
	Page
	tape   *tape
	client *http.Client
	// reading is held while a page is read: one at a time.
	reading chan struct{}

	mu    sync.Mutex
	found *pageLines
	// pages is how many were read; absent means that the engine has none.
	pages  int
	absent bool
}

// noPage is the error for an engine that has no page of metrics.
type noPage struct{ status string }

func (e *noPage) Error() string { return "it answered " + e.status }

func newPageReader(p Page, t *tape) *pageReader {
	if p.Every <= 0 {
		p.Every = 250 * time.Millisecond
	}
	return &pageReader{Page: p, tape: t, client: ownClient(p.Client), reading: make(chan struct{}, 1), found: newPageLines(p.Names)}
}

// ownClient keeps one connection open, uses it for nothing else, and follows no
// redirects, since those may lead away from the engine. Pages are not compressed: that
// would cost the engine more than it saves.
func ownClient(like *http.Client) *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if like != nil {
		switch given := like.Transport.(type) {
		case *http.Transport:
			transport = given.Clone()
		case nil:
		default: // not ours to take apart
			own.Transport = given
			return own
		}
	}
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = 1, 1, 1
	transport.DisableCompression, transport.DisableKeepAlives = true, false
	own.Transport = transport
	return own
}

// run reads the page again and again until ctx ends.
func (p *pageReader) run(ctx context.Context) {
	for {
		took := p.read(ctx, pollLimit)
		if ctx.Err() != nil || p.gone() || !sleep(ctx, min(max(p.Every, took*share), max(p.Every, slowest))) {
			return
		}
	}
}

// gone reports whether the engine turned out to have no page.
func (p *pageReader) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.absent
}

// read takes one reading, after any that is under way, and returns how long it took. The
// page's values are taken to be those in the middle of that time.
func (p *pageReader) read(ctx context.Context, limit time.Duration) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case p.reading <- struct{}{}:
		defer func() { <-p.reading }()
	case <-ctx.Done():
		return 0
	}
	if p.gone() { // as the reading before this one may have found
		return 0
	}
	start := time.Now()
	text, err := p.get(ctx)
	took := time.Since(start)
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []pageLine
	if err == nil {
		lines, err = p.found.read(text)
	}
	var none *noPage
	switch {
	case err == nil:
		p.pages++
		p.found.keep(start.Add(took/2), lines)
	case errors.Is(ctx.Err(), context.Canceled): // watching has ended
	case errors.As(err, &none) && p.pages == 0:
		p.absent = true
		text := "the engine has no metrics page: " + p.path() + " answered " + none.status
		if len(p.Needs) > 0 {
			text += "; to get one, start it with " + strings.Join(p.Needs, " ")
		}
		p.tape.tell("page", "%s", text)
	default:
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %s", limit)
		}
		p.tape.tell("page", "cannot read the engine's metrics page at %.1f s: GET %s: %v", start.Sub(p.tape.zero).Seconds(), p.URL, err)
	}
	return took
}

// path is the URL's path, without the port, which differs at each launch.
func (p *pageReader) path() string {
	if u, err := url.Parse(p.URL); err == nil && u.Path != "" {
		return u.Path
	}
	return p.URL
}

// get requests the page.
func (p *pageReader) get(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, p.Header)
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := p.client.Do(req)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err // callers name the address
		}
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusNotImplemented:
		return nil, &noPage{resp.Status}
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered %s", resp.Status)
	case err != nil:
		return nil, fmt.Errorf("connection broken: %w", err)
	case len(text) > maxPage:
		return nil, fmt.Errorf("it is larger than %d MiB", maxPage>>20)
	}
	return text, nil
}

// finish puts everything that was read on the tape, once all reading has ended.
func (p *pageReader) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client.CloseIdleConnections()
	p.found.put(p.tape)
	if names := p.found.absent(); p.pages > 0 && len(names) > 0 {
		p.tape.tell("absent", "the engine's metrics page never had: %s", strings.Join(names, ", "))
	}
}

// maxLines bounds the lines of one metric that are kept apart, and the wanted lines of
// one page per metric: engines have one for each rank and position. A server whose labels
// change with every page keeps adding new ones.
const maxLines = 512

// pageLines are the wanted lines of an engine's page, over time.
type pageLines struct {
	names map[string][]string
	// wanted are all of the engine's names that may serve.
	wanted map[string]bool
	// chosen is the engine's name for each of mxflow's, once one was seen: one metric is
	// not continued by another.
	chosen map[string]string
	// values are by mxflow's name and by labels.
	values map[string]map[string]*lineSeries
	// crowded are those of mxflow's names that had more than maxLines. No sum of them is
	// right, so they are left out.
	crowded map[string]bool
}

// pageLine is one line of a page.
type pageLine struct {
	name   string
	labels map[string]string
	value  float64
}

// lineSeries are the values of one line over time.
type lineSeries struct {
	labels map[string]string
	at     []time.Time
	value  []float64
}

func newPageLines(names map[string][]string) *pageLines {
	p := &pageLines{names: map[string][]string{}, wanted: map[string]bool{}, chosen: map[string]string{}, values: map[string]map[string]*lineSeries{}, crowded: map[string]bool{}}
	for ours, theirs := range names {
		for _, name := range theirs {
			p.names[ours] = append(p.names[ours], spellings(name)...)
		}
		for _, name := range p.names[ours] {
			p.wanted[name] = true
		}
	}
	return p
}

// spellings are a name and its form in other versions of the Prometheus clients: with
// _total or without.
func spellings(name string) []string {
	if short, ok := strings.CutSuffix(name, "_total"); ok {
		return []string{name, short}
	}
	if strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count") {
		return []string{name}
	}
	return []string{name, name + "_total"}
}

// read takes the wanted lines from a page in Prometheus' text format. The others are
// skipped unread: a page has hundreds of lines, most of histograms. The _sum and _count
// of a histogram are ordinary lines.
func (p *pageLines) read(page []byte) ([]pageLine, error) {
	var few bytes.Buffer
	metrics, wanted := false, 0
	for line := range bytes.Lines(page) {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 || line[0] == '#' {
			metrics = metrics || bytes.HasPrefix(line, []byte("# TYPE "))
			continue
		}
		if end := bytes.IndexAny(line, "{ \t"); end > 0 && p.wanted[string(line[:end])] {
			if wanted++; wanted > maxLines*len(p.names) {
				return nil, fmt.Errorf("it has more than %d lines of known metrics", maxLines*len(p.names))
			}
			few.Write(line)
		}
	}
	if few.Len() == 0 {
		if metrics || len(bytes.TrimSpace(page)) == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("it is not a page of Prometheus metrics, or has no known ones: it starts with %q", logscan.CleanTo(page, 60))
	}
	few.WriteByte('\n')
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&few)
	if err != nil {
		return nil, fmt.Errorf("it is not a page of Prometheus metrics: %w", err)
	}
	var lines []pageLine
	for name, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			lines = append(lines, pageLine{name, labels, m.GetUntyped().GetValue()})
		}
	}
	return lines, nil
}

// keep stores the lines read at a time: for each of mxflow's names, those of the first of
// the engine's names that is present.
func (p *pageLines) keep(at time.Time, lines []pageLine) {
	there := map[string][]pageLine{}
	for _, l := range lines {
		there[l.name] = append(there[l.name], l)
	}
	for ours, theirs := range p.names {
		if p.chosen[ours] == "" {
			if i := slices.IndexFunc(theirs, func(name string) bool { return len(there[name]) > 0 }); i >= 0 {
				p.chosen[ours] = theirs[i]
				p.values[ours] = map[string]*lineSeries{}
			}
		}
		for _, l := range there[p.chosen[ours]] {
			key := fmt.Sprint(l.labels) // maps are printed in order
			v := p.values[ours][key]
			if v == nil && len(p.values[ours]) == maxLines {
				p.crowded[ours] = true
				continue
			}
			if v == nil {
				v = &lineSeries{labels: l.labels}
				p.values[ours][key] = v
			}
			v.at, v.value = append(v.at, at), append(v.value, l.value)
		}
	}
}

// put adds everything to the tape, as series.
func (p *pageLines) put(t *tape) {
	for ours, lines := range p.values {
		if p.crowded[ours] {
			t.tell("crowded", "the engine's metrics page has more than %d different lines of %s, which were skipped", maxLines, ours)
			continue
		}
		all := slices.Collect(maps.Values(lines))
		for _, l := range all {
			from := source(l.labels, all)
			for i := range l.at {
				t.add("engine."+ours, from, "", l.at[i], l.value[i])
			}
		}
	}
}

// source distinguishes the lines of one metric by the labels in which they differ. A
// position is always included, as a draft may have a single one.
func source(labels map[string]string, all []*lineSeries) string {
	var differ []string
	names := map[string]bool{}
	for _, l := range all {
		for name := range l.labels {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		alike := !slices.ContainsFunc(all, func(l *lineSeries) bool { return l.labels[name] != labels[name] })
		if !alike || name == "position" {
			differ = append(differ, fmt.Sprintf("%s=%q", name, labels[name]))
		}
	}
	return strings.Join(differ, ",")
}

// absent are those of mxflow's names that no page had, except the counters of features
// that most runs do without: engines list these only if they are on.
func (p *pageLines) absent() (names []string) {
	for _, ours := range slices.Sorted(maps.Keys(p.names)) {
		if p.chosen[ours] == "" && !strings.HasPrefix(ours, "spec_") && ours != "corrupted_requests" {
			names = append(names, ours)
		}
	}
	return names
}
