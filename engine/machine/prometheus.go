package machine

import (
	"fmt"
	"regexp"
	"slices"
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

// when is a line's time: milliseconds, or seconds with a fraction as OpenMetrics has them.
const when = `(?:[ \t]+[+-]?\d+(?:\.\d+)?)?`

const label = `([a-zA-Z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\[\\"n])*)"[ \t]*`

var (
	labelText  = regexp.MustCompile(label)
	metricText = regexp.MustCompile(`^([a-zA-Z_:][\w:]*)(?:[ \t]*\{[ \t]*((?:` + label + `,[ \t]*)*(?:` + label +
		`)?)\}[ \t]*|[ \t]+)([^ \t]+)` + when + `(?:[ \t]+#[ \t].*)?$`)
	unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// ParseMetrics reads a page in Prometheus' text format
// (prometheus.io/docs/instrumenting/exposition_formats), in its order, or in OpenMetrics',
// whose exemplars it leaves out. wanted, if not nil, chooses lines by their name; the others
// are skipped: a page has hundreds of lines, most of histograms. A chosen line that is
// malformed, or in which the page breaks off, is counted as unread, and wrong says what is
// wrong with the first. All lines of its name are left out: a sum over ranks would lack one.
func ParseMetrics(page string, wanted func(name string) bool) (metrics []Metric, unread int, wrong error) {
	n := 0
	var name string
	incomplete := map[string]bool{}
	skip := func(format string, args ...any) {
		incomplete[name] = true
		if unread++; wrong == nil {
			wrong = fmt.Errorf(format, args...)
		}
	}
lines:
	for line := range strings.Lines(page) {
		n++
		text, whole := strings.CutSuffix(line, "\n")
		text = strings.Trim(strings.TrimSuffix(text, "\r"), " \t")
		name = text[:len(text)-
			len(strings.TrimLeft(text, "_:0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
		switch {
		case text == "", text[0] == '#', wanted != nil && !wanted(name):
			continue // TYPE and HELP do not change what a line says
		case !whole:
			skip("it breaks off in line %d: %q", n, foreign.CleanTo(text, 60))
			continue
		}
		cells := metricText.FindStringSubmatch(text)
		if cells == nil || !utf8.ValidString(text) {
			skip("line %d is not a metric, its labels, its value and at most a time: %q", n, foreign.CleanTo(text, 60))
			continue
		}
		m := Metric{Name: cells[1], Labels: map[string]string{}}
		for _, pair := range labelText.FindAllStringSubmatch(cells[2], -1) {
			if _, twice := m.Labels[pair[1]]; twice || pair[1] == "__name__" {
				skip("line %d has the label %s twice: %q", n, pair[1], foreign.CleanTo(text, 60))
				continue lines
			}
			m.Labels[pair[1]] = unescape.Replace(pair[2])
		}
		number := cells[len(cells)-1]
		var err error
		if m.Value, err = strconv.ParseFloat(number, 64); err != nil || strings.ContainsAny(number, "pP_") {
			skip("the value in line %d is not a number: %q", n, foreign.CleanTo(text, 60))
			continue
		}
		metrics = append(metrics, m)
	}
	metrics = slices.DeleteFunc(metrics, func(m Metric) bool { return incomplete[m.Name] })
	return metrics, unread, wrong
}
