package machine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/httpclient"
	"github.com/mxflow/mxflow/internal/sorted"
)

type MetricsPage struct {
	URL    string
	Header http.Header
	// Client is one whose certificates the page's own client trusts, too; nil trusts what the
	// system trusts.
	Client *http.Client
	// Names maps mxflow's names to the engine's, as kinds.Metrics does. A series is named
	// "engine." plus mxflow's name; those of a metric with several lines (ranks,
	// positions) are distinguished by Source.
	Names map[string][]string
	// Needs are flags without which an engine of the kind has no page.
	Needs []string
	// Every is the time between readings; 0 means 250 ms. A slow page is read less often,
	// so that readings take a tenth of the time, but with pauses of at most 2 s.
	Every time.Duration
}

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

type pageReader struct {
	MetricsPage
	*Sampler
	client *http.Client
	// reading is held while a page is read: one at a time. It guards what follows: how many
	// were read, and whether the engine has none.
	reading chan struct{}
	pages   int
	absent  bool

	// names are the engine's names that may serve for each of mxflow's, wanted all of them;
	// chosen is the one that does, once it was seen: one metric is not continued by another.
	names  map[string][]string
	wanted map[string]bool
	chosen map[string]string
	// values are by mxflow's name and by labels. They are the loop's.
	values map[string]map[string]*lineSeries
}

// lineSeries are the values of one line over time.
type lineSeries struct {
	labels map[string]string
	at     []time.Time
	value  []float64
}

// errNoPage is the error for an engine that has no page of metrics.
var errNoPage = errors.New("the engine has no metrics page")

func newPageReader(page MetricsPage, s *Sampler) *pageReader {
	if page.Every <= 0 {
		page.Every = 250 * time.Millisecond
	}
	p := &pageReader{
		MetricsPage: page, Sampler: s, client: ownClient(page.Client), reading: make(chan struct{}, 1),
		names: map[string][]string{}, wanted: map[string]bool{},
		chosen: map[string]string{}, values: map[string]map[string]*lineSeries{},
	}
	for ours, theirs := range page.Names {
		for _, name := range theirs {
			// Other versions of the Prometheus clients have _total or not.
			p.names[ours] = append(p.names[ours], name)
			if short, ok := strings.CutSuffix(name, "_total"); ok {
				p.names[ours] = append(p.names[ours], short)
			} else if !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
				p.names[ours] = append(p.names[ours], name+"_total")
			}
		}
		for _, name := range p.names[ours] {
			p.wanted[name] = true
		}
	}
	return p
}

// ownClient keeps one connection open and uses it for nothing else; it trusts the same
// certificates as like.
func ownClient(like *http.Client) *http.Client {
	var trust *tls.Config
	if like != nil {
		if transport, ok := like.Transport.(*http.Transport); ok {
			trust = transport.TLSClientConfig
		}
	}
	return httpclient.New(trust, 1)
}

// run reads the page again and again until sampling ends.
func (p *pageReader) run() {
	for {
		took, gone := p.read(p.ctx, pollLimit)
		if p.ctx.Err() != nil || gone || !sleep(p.ctx, min(max(p.Every, took*share), max(p.Every, slowest))) {
			return
		}
	}
}

// read takes one reading, after any that is under way, and returns how long it took, and
// whether the engine turned out to have no page. The page's values are taken to be those in
// the middle of that time.
func (p *pageReader) read(ctx context.Context, limit time.Duration) (took time.Duration, gone bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case p.reading <- struct{}{}:
		defer func() { <-p.reading }()
	case <-ctx.Done():
		return 0, false
	}
	if p.absent { // as the reading before this one found
		return 0, true
	}
	start := time.Now()
	text, err := p.get(ctx)
	took = time.Since(start)
	var lines []Metric
	if err == nil {
		lines, err = p.parse(text)
	}
	var why string
	switch {
	case err == nil || len(lines) > 0:
		p.pages++
		p.done(func() {
			if p.keep(start.Add(took/2), lines); err != nil {
				p.tell("unread", "%v", err)
			}
		})
		return took, false
	case errors.Is(ctx.Err(), context.Canceled): // sampling has ended
		return took, false
	case errors.Is(err, errNoPage) && p.pages == 0:
		p.absent = true
		why = err.Error()
		if len(p.Needs) > 0 {
			why += "; to get one, start it with " + strings.Join(p.Needs, " ")
		}
	case ctx.Err() != nil:
		err = fmt.Errorf("no answer within %s", limit)
		fallthrough
	default:
		why = fmt.Sprintf("cannot read the engine's metrics page at %.1f s: GET %s: %v", p.seconds(start), p.URL, err)
	}
	p.done(func() { p.tell("page", "%s", why) })
	return took, p.absent
}

func (p *pageReader) get(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return "", err
	}
	maps.Copy(req.Header, p.Header)
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := p.client.Do(req)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err // callers name the address
		}
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusNotImplemented:
		// the port differs at each launch
		return "", fmt.Errorf("%w: %s answered %s", errNoPage, req.URL.Path, resp.Status)
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("it answered %s", resp.Status)
	case err != nil:
		return "", fmt.Errorf("connection broken: %w", err)
	case len(text) > maxPage:
		return "", fmt.Errorf("it is larger than %d MiB", maxPage>>20)
	}
	return string(text), nil
}

// parse returns the wanted lines of a page; beside an error, those that can be read.
func (p *pageReader) parse(page string) ([]Metric, error) {
	lines, unread, err := ParseMetrics(page, func(name string) bool { return p.wanted[name] })
	switch {
	case err != nil && len(lines) == 0:
		return nil, fmt.Errorf("it is not a page of Prometheus metrics: %w", err)
	case len(lines) == 0 && strings.TrimSpace(page) != "" && !strings.Contains(page, "# TYPE "):
		return nil, fmt.Errorf("it is not a page of Prometheus metrics, or has no known ones: it starts with %q",
			foreign.CleanTo(page, 60))
	}
	if err != nil {
		err = fmt.Errorf("%d of %d lines of the engine's metrics page cannot be read: %w", unread,
			unread+len(lines), err)
	}
	return lines, err
}

// keep stores the lines read at a time: for each of mxflow's names, those of the first of
// the engine's names that is present.
func (p *pageReader) keep(at time.Time, lines []Metric) {
	there := map[string][]Metric{}
	for _, l := range lines {
		there[l.Name] = append(there[l.Name], l)
	}
	for ours, theirs := range p.names {
		if p.chosen[ours] == "" {
			if i := slices.IndexFunc(theirs, func(name string) bool { return len(there[name]) > 0 }); i >= 0 {
				p.chosen[ours], p.values[ours] = theirs[i], map[string]*lineSeries{}
			}
		}
		for _, l := range there[p.chosen[ours]] {
			key := fmt.Sprint(l.Labels) // maps are printed in order
			v := p.values[ours][key]
			if v == nil {
				v = &lineSeries{labels: l.Labels}
				p.values[ours][key] = v
			}
			v.at, v.value = append(v.at, at), append(v.value, l.Value)
		}
	}
}

// finish makes series of everything that was read, once all reading has ended. Features that
// most runs do without are not missed: engines list their counters only if they are on.
func (p *pageReader) finish() {
	p.client.CloseIdleConnections()
	var never []string
	for _, ours := range slices.Sorted(maps.Keys(p.names)) {
		if p.chosen[ours] == "" && !strings.HasPrefix(ours, "spec_") && ours != "corrupted_requests" {
			never = append(never, ours)
		}
		var all []*lineSeries
		for _, l := range sorted.All(p.values[ours]) {
			all = append(all, l)
		}
		for _, l := range all {
			from := differing(l.labels, all)
			for i := range l.at {
				p.add("engine."+ours, from, "", l.at[i], l.value[i])
			}
		}
	}
	if p.pages > 0 && len(never) > 0 {
		p.tell("absent", "the engine's metrics page never had: %s", strings.Join(never, ", "))
	}
}

// differing distinguishes the lines of one metric by the labels in which they differ. A
// position is always included, as a draft may have a single one.
func differing(labels map[string]string, all []*lineSeries) string {
	names := map[string]bool{}
	for _, l := range all {
		for name := range l.labels {
			names[name] = true
		}
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		alike := !slices.ContainsFunc(all, func(l *lineSeries) bool { return l.labels[name] != labels[name] })
		if !alike || name == "position" {
			differ = append(differ, fmt.Sprintf("%s=%q", name, labels[name]))
		}
	}
	return strings.Join(differ, ",")
}
