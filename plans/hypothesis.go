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
	// Probe reads what is claimed: the metric's change, or its value where the
	// claim is a level. Set by Load.
	Probe *Rule `json:"-"`
	Range Range `json:"-"`
}

var hypothesisDoc = &BlockDoc{
	Type: "hypothesis", Times: AtMost1,
	Doc: "The claim made before measuring. It decides nothing, but it is recorded beside what came out.",
	Attrs: []Attr{
		{Name: "metric", Type: String, Required: true, Doc: "What is claimed to change: an address such as `chat.tg`."},
		{Name: "expect", Type: String, Required: true, Doc: "A relative change (`+10%`, `-5%`) or a level (`>= 32`)."},
		{Name: "because", Type: String, Required: true, Doc: "Why it should, in one sentence."},
	},
	Example: `hypothesis {
  metric  = "chat.tg"
  expect  = "+10%"
  because = "the grouped GEMM avoids Marlin's dequantisation"
}`,
}

var hypothesisSchema = hypothesisDoc.schema()

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
