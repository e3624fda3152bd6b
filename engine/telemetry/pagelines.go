package telemetry

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// maxLines bounds the lines of one metric that are kept apart, and those that are
// wanted of one page: engines have one for each rank and position. A server whose
// labels change with every page has others.
const maxLines = 512

// pageLines are the lines of an engine's page that are wanted, over time.
type pageLines struct {
	names map[string][]string
	// wanted are all names of the engine's that may serve.
	wanted map[string]bool
	// chosen is the engine's name of each of mxflow's, once one was there: one
	// metric is not continued by another.
	chosen map[string]string
	// values are by mxflow's name and by labels.
	values map[string]map[string]*labelled
	// crowded are those of mxflow's names that had more than maxLines. No sum of
	// them is right, so that they are left out.
	crowded map[string]bool
}

// pageLine is one line of a page.
type pageLine struct {
	name   string
	labels map[string]string
	value  float64
}

// labelled are the values of one line over time.
type labelled struct {
	labels map[string]string
	at     []time.Time
	value  []float64
}

func newPageLines(names map[string][]string) *pageLines {
	p := &pageLines{names: map[string][]string{}, wanted: map[string]bool{}, chosen: map[string]string{}, values: map[string]map[string]*labelled{}, crowded: map[string]bool{}}
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

// spellings are a name and what other versions of the clients call the same
// counter: with _total and without.
func spellings(name string) []string {
	if short, ok := strings.CutSuffix(name, "_total"); ok {
		return []string{name, short}
	}
	if strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count") {
		return []string{name}
	}
	return []string{name, name + "_total"}
}

// read takes the wanted lines from a page in Prometheus' text format. The others
// are passed over unread: a page has hundreds of lines, most of histograms. The
// _sum and _count of a histogram are lines as others are.
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
		return nil, fmt.Errorf("it is not a page of Prometheus metrics, or has none that is known: it begins with %q", printable(page))
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

// keep files the lines that were read at a time: of each of mxflow's names those
// of the first of the engine's that is there.
func (p *pageLines) keep(at time.Time, lines []pageLine) {
	there := map[string][]pageLine{}
	for _, l := range lines {
		there[l.name] = append(there[l.name], l)
	}
	for ours, theirs := range p.names {
		if p.chosen[ours] == "" {
			if i := slices.IndexFunc(theirs, func(name string) bool { return len(there[name]) > 0 }); i >= 0 {
				p.chosen[ours] = theirs[i]
				p.values[ours] = map[string]*labelled{}
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
				v = &labelled{labels: l.labels}
				p.values[ours][key] = v
			}
			v.at, v.value = append(v.at, at), append(v.value, l.value)
		}
	}
}

// put makes series of everything, on the tape.
func (p *pageLines) put(t *tape) {
	for ours, lines := range p.values {
		if p.crowded[ours] {
			t.tell("crowded", "the engine's page of metrics has more than %d different lines of %s, which is left out", maxLines, ours)
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

// source tells the lines of one metric apart by the labels in which they differ.
// A position is always told, as a draft may have a single one.
func source(labels map[string]string, all []*labelled) string {
	var differ []string
	names := map[string]bool{}
	for _, l := range all {
		for name := range l.labels {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		alike := !slices.ContainsFunc(all, func(l *labelled) bool { return l.labels[name] != labels[name] })
		if !alike || name == "position" {
			differ = append(differ, fmt.Sprintf("%s=%q", name, labels[name]))
		}
	}
	return strings.Join(differ, ",")
}

// absent are those of mxflow's names that no page had, but for the counters of
// features that most runs do without: engines list these only where they are on.
func (p *pageLines) absent() (names []string) {
	for _, ours := range slices.Sorted(maps.Keys(p.names)) {
		if p.chosen[ours] == "" && !strings.HasPrefix(ours, "spec_") && ours != "corrupted_requests" {
			names = append(names, ours)
		}
	}
	return names
}
