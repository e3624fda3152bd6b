package plans

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Hypothesis is the claim made before measuring.
type Hypothesis struct {
	// Metric is an address such as "chat.tg".
	Metric string
	// Expect is "+10%", "-5%" or a comparison such as ">= 32".
	Expect  string
	Because string
	// Probe is the claim as a rule: that the metric's change is at least, or at
	// most, so much, or its value is beyond a level. A pass confirms the claim and
	// a fail refutes it. It reads one input, unless the claim is the change of
	// another statistic than the median. Set by Load.
	Probe *Rule `json:"-"`
	Range Range `json:"-"`
	// MetricRange and ExpectRange are where these two stand.
	MetricRange Range `json:"-"`
	ExpectRange Range `json:"-"`
}

// Digest is the SHA-256 of what is claimed and why, in hex: a claim with another
// digest is another claim. White space around its parts does not count.
func (h *Hypothesis) Digest() string {
	text, err := json.Marshal([]string{"mxflow hypothesis v1", strings.TrimSpace(h.Metric), strings.TrimSpace(h.Expect), strings.TrimSpace(h.Because)})
	if err != nil {
		panic("plans: hypothesis cannot be encoded: " + err.Error()) // texts always can
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// probe makes the claim a rule, compiled where the feature's criteria are. in is
// what Metric leads to.
func (ns *namespace) probe(h *Hypothesis, in *Input, sc *scope) *ruleError {
	if !expectForm.MatchString(h.Expect) {
		return nil // reported by the decoder
	}
	expr := h.Metric + " " + h.Expect
	if percent, relative := strings.CutSuffix(h.Expect, "%"); relative {
		expr = changeRule(in, percent)
	}
	program, errs := ns.compile(expr, sc)
	if len(errs) > 0 {
		return errs[0]
	}
	h.Probe = &Rule{Name: "hypothesis", Expr: expr, Program: program, Range: h.Range, ExprRange: h.Range}
	return nil
}

// changeRule says that a metric changes by at least "+10" per cent, or by no more
// than "-5".
func changeRule(in *Input, percent string) string {
	op := ">="
	if strings.HasPrefix(percent, "-") {
		op = "<="
	}
	n, _ := strconv.ParseFloat(percent, 64) // its form was checked
	ratio := rounded(n / 100)
	address := in.Cell + "." + in.Metric
	if in.Cell == "" {
		address = "engine." + in.Metric
	}
	if in.Stat == "median" || in.Stat == "p50" {
		return fmt.Sprintf("%s.change %s %v", address, op, ratio)
	}
	return fmt.Sprintf("%s.%s %s %v * %[1]s.base.%[2]s", address, in.Stat, op, rounded(1+ratio))
}

var hypothesisDoc = &BlockDoc{
	Type: "hypothesis", Times: AtMost1,
	Doc: "The claim made before measuring. It decides nothing about the feature: it comes out as confirmed, refuted or open, by the test that a rule of the same words would have, and is recorded beside what the criteria decide.",
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
	h.MetricRange, h.ExpectRange = rangeOf(f.at("metric")), rangeOf(f.at("expect"))
	if h.Metric != "" && !metricForm.MatchString(h.Metric) {
		l.fail(f.at("metric"), "Invalid metric address", `%q is no address. Write a workload and a metric, such as "chat.tg".`, h.Metric)
		h.Metric = ""
	}
	if h.Expect != "" && !expectForm.MatchString(h.Expect) {
		l.fail(f.at("expect"), "Invalid expectation", `%q is neither a change with a sign and a per cent, such as "+10%%" or "-5%%", nor a comparison, such as ">= 32".`, h.Expect)
	}
	return h
}
