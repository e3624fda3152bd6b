package ab

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// Claim is the question that a comparison answers: how much better B must be than A, or
// how much worse it may be.
type Claim struct {
	Metric measure.Metric
	// Gain is the least relative improvement in the metric's better direction:
	// 0.10 is 10% better, −0.03 up to 3% worse.
	Gain float64
	// Given is false if the user made no claim.
	Given bool
}

// NotWorse is the default claim: B is no more than this much worse. Whether it is better
// shows in the interval.
const NotWorse = 0.03

var claimText = regexp.MustCompile(`^(?:([<>])=\s*)?([+-]?)\s*([0-9]+(?:\.[0-9]+)?)\s*(%|x)?$`)

// claimable are the metrics that a claim can be about: each request, or each cell of the
// only workload, has a positive value of it with a better direction.
var claimable = []string{"tg", "pp", "ttft", "tpot", "e2e", "itl", "tg_total", "pp_total", "capacity"}

// Metrics are their catalogue entries, in its order.
func Metrics() (list []measure.Metric) {
	for _, m := range measure.Catalogue() {
		if slices.Contains(claimable, m.Name) {
			list = append(list, m)
		}
	}
	return list
}

func ParseClaim(metric, text string) (Claim, error) {
	c := Claim{Gain: -NotWorse}
	var names []string
	for _, m := range Metrics() {
		names = append(names, m.Name)
		if m.Name == metric {
			c.Metric = m
		}
	}
	if c.Metric.Name == "" {
		return c, fmt.Errorf("--metric: %q is not one of %s", metric, strings.Join(names, ", "))
	}
	if text == "" {
		return c, nil
	}
	m := claimText.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[4] != "%" || m[1]+m[2] == "" {
		return c,
			fmt.Errorf("--claim: %q is not a change: write '+10%%' for at least 10%% more, or '-3%%' for at most 3%% "+
				"less", text)
	}
	n, err := strconv.ParseFloat(m[2]+m[3], 64)
	if err != nil || math.IsInf(n, 0) {
		return c, fmt.Errorf("--claim: %q is not a change", text)
	}
	c.Given, c.Gain = true, n/100
	asks := ">"
	if c.Metric.Better == measure.Lower {
		c.Gain, asks = -c.Gain, "<"
	}
	switch {
	case m[1] != "" && m[1] != asks:
		return c, fmt.Errorf("--claim: %s of %s would be a claim that B is worse: write '%s= %s%s%%'", text, metric,
			asks, m[2], m[3])
	case c.Gain <= -0.9 || c.Gain > 1000 || c.Metric.Better == measure.Lower && c.Gain >= 0.999:
		return c, fmt.Errorf("--claim: %s of %s is out of reach", text, metric)
	case c.Gain == 0:
		c.Gain = 0 // −0 becomes 0
	}
	return c, nil
}

// Rule is the claim as a rule of a plan about a cell.
func (c Claim) Rule(cell string) string {
	return fmt.Sprintf("%s.%s.gain >= %s", cell, c.Metric.Name, strconv.FormatFloat(c.Gain, 'f', -1, 64))
}

// Lower reports whether less is better.
func (c Claim) Lower() bool { return c.Metric.Better == measure.Lower }

// Change turns an improvement into the signed change of the metric.
func (c Claim) Change(gain float64) float64 {
	if c.Lower() {
		return -gain
	}
	return gain
}

// words say what B does more or less of than A: it is faster, or carries more traffic.
func (c Claim) words() (does, no, more, less string) {
	if c.Metric.Name == "capacity" {
		return "carries", "no", "more", "less"
	}
	return "is", "not", "faster", "slower"
}

// Says is the claim as a sentence about B without its subject.
func (c Claim) Says(label string) string { return c.sentence(label, 0) }

// Not is the opposite of the claim as such a sentence.
func (c Claim) Not(label string) string { return c.sentence(label, 1) }

func (c Claim) sentence(label string, opposite int) string {
	size := strconv.FormatFloat(math.Round(math.Abs(c.Gain)*1e6)/1e4, 'f', -1, 64) + "%"
	does, no, more, less := c.words()
	words := [2]string{does + " at most " + size + " " + less, does + " more than " + size + " " + less}
	switch { // among lower-is-better metrics, all are times
	case c.Gain > 0 && c.Lower():
		words = [2]string{"takes at least " + size + " less time", "does not take " + size + " less time"}
	case c.Gain > 0:
		words = [2]string{does + " at least " + size + " " + more, does + " less than " + size + " " + more}
	case c.Gain == 0 && c.Lower():
		words = [2]string{"takes no more time", "takes more time"}
	case c.Gain == 0:
		words = [2]string{does + " " + no + " " + less, does + " " + less}
	case c.Lower():
		words = [2]string{"takes at most " + size + " more time", "takes more than " + size + " more time"}
	}
	return fmt.Sprintf("%s than A (%s)", words[opposite], label)
}
