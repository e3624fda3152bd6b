package machine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mxflow/mxflow/internal/foreign"
)

// Metric is one line of a page in Prometheus' text format. The _bucket, _sum and _count of
// a histogram are lines of their own.
type Metric struct {
	Name   string
	Labels map[string]string
	Value  float64
}

const label = `([a-zA-Z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\[\\"n])*)"[ \t]*`

var (
	labelText  = regexp.MustCompile(label)
	metricText = regexp.MustCompile(`^([a-zA-Z_:][\w:]*)(?:[ \t]*\{[ \t]*((?:` + label + `,[ \t]*)*(?:` + label + `)?)\}[ \t]*|[ \t]+)([^ \t]+)(?:[ \t]+[+-]?\d+)?$`)
	unescape   = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// ParseMetrics reads a page in Prometheus' text format
// (prometheus.io/docs/instrumenting/exposition_formats), in its order. wanted, if not nil,
// chooses lines by their name; the others are skipped unread: a page has hundreds of lines,
// most of histograms. A line that is malformed, and a page that breaks off in one, is an
// error.
func ParseMetrics(page string, wanted func(name string) bool) (metrics []Metric, err error) {
	n := 0
	for line := range strings.Lines(page) {
		n++
		text, whole := strings.CutSuffix(line, "\n")
		text = strings.Trim(text, " \t")
		name := text[:len(text)-len(strings.TrimLeft(text, "_:0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
		switch {
		case !whole:
			return nil, fmt.Errorf("it breaks off in line %d: %q", n, foreign.CleanTo(text, 60))
		case text == "", text[0] == '#', wanted != nil && !wanted(name):
			continue // TYPE and HELP do not change what a line says
		}
		cells := metricText.FindStringSubmatch(text)
		if cells == nil || !utf8.ValidString(text) {
			return nil, fmt.Errorf("line %d is not a metric, its labels, its value and at most a time: %q", n, foreign.CleanTo(text, 60))
		}
		m := Metric{Name: cells[1], Labels: map[string]string{}}
		for _, pair := range labelText.FindAllStringSubmatch(cells[2], -1) {
			if _, twice := m.Labels[pair[1]]; twice || pair[1] == "__name__" {
				return nil, fmt.Errorf("line %d has the label %s twice: %q", n, pair[1], foreign.CleanTo(text, 60))
			}
			m.Labels[pair[1]] = unescape.Replace(pair[2])
		}
		number := cells[len(cells)-1]
		if m.Value, err = strconv.ParseFloat(number, 64); err != nil || strings.ContainsAny(number, "pP_") {
			return nil, fmt.Errorf("the value in line %d is not a number: %q", n, foreign.CleanTo(text, 60))
		}
		metrics = append(metrics, m)
	}
	return metrics, nil
}
