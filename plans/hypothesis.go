package plans

import (
	"regexp"

	"github.com/hashicorp/hcl/v2"
)

// Hypothesis is the claim made before measuring.
type Hypothesis struct {
	// Metric is an address such as "chat.tg".
	Metric string
	// Expect is "+10%", "-5%" or a comparison such as ">= 32".
	Expect  string
	Because string
	Range   Range `json:"-"`
}

var hypothesisSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "metric"}, {Name: "expect"}, {Name: "because"},
}}

var (
	metricForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$`)
	expectForm = regexp.MustCompile(`^([+-][0-9]+(\.[0-9]+)?%|(<|<=|>|>=) *-?[0-9]+(\.[0-9]+)?)$`)
)

func (l *loader) decodeHypothesis(b *hcl.Block) *Hypothesis {
	f := l.fields(b, hypothesisSchema, "hypothesis")
	h := &Hypothesis{
		Metric:  f.needText("metric", `what is claimed to change, such as "chat.tg".`),
		Expect:  f.needText("expect", `the claim, such as "+10%" or ">= 32".`),
		Because: f.needText("because", "why it should, in one sentence."),
		Range:   rangeOf(b.DefRange),
	}
	if h.Metric != "" && !metricForm.MatchString(h.Metric) {
		l.fail(f.at("metric"), "Invalid metric address", `%q is no address. Write a workload and a metric, such as "chat.tg".`, h.Metric)
		h.Metric = ""
	}
	if h.Expect != "" && !expectForm.MatchString(h.Expect) {
		l.fail(f.at("expect"), "Invalid expectation", `%q is neither a change with a sign and a per cent, such as "+10%%" or "-5%%", nor a comparison, such as ">= 32".`, h.Expect)
	}
	return h
}
