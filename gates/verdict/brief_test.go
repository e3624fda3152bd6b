package verdict

import (
	"math"
	"testing"
)

// A line has the number that decided, never a bound better than the one on record.
func TestBrief(t *testing.T) {
	f := func(x float64) *float64 { return &x }
	gain := func(v Verdict, is, low, high, wanted float64) Rule {
		test := &Test{Form: Ratio, Relation: "gain", More: true, Threshold: wanted, Estimate: f(is), Low: f(low), High: f(high)}
		return Rule{Name: "decode", Verdict: v, Comparisons: []Comparison{{Verdict: v, Test: test}}}
	}
	delta := gain(Pass, -0.0001178, -0.0016, 0.0012861, 0.25)
	delta.Comparisons[0].Test.Form, delta.Comparisons[0].Test.Unit = Range, "GB"
	delta.Comparisons[0].Test.Relation, delta.Comparisons[0].Test.More = "delta", false
	level := gain(Pass, 57.853, 56.789, 58.9, 50)
	level.Comparisons[0].Test.Form, level.Comparisons[0].Test.Unit, level.Comparisons[0].Test.Relation = Level, "tok/s", ""
	for want, r := range map[string]Rule{
		"decode +34% (≥ +10%, at least +31%)":                 gain(Pass, 0.3421, 0.3199, 0.37, 0.10),
		"decode 13× (≥ +100%, at least 11×)":                  gain(Pass, 11.786, 10.979, 12.4, 1),
		"decode 4.9× (≥ +100%, at least 4.1×)":                gain(Pass, 3.86, 3.199, 4.4, 1),
		"decode -2.6% (≥ +10%, at most -1.1%)":                gain(Fail, -0.026, -0.04, -0.0119, 0.10),
		"decode +9.97% (≥ +10%, at most +9.99%)":              gain(Fail, 0.0997, 0.09, 0.09985, 0.10),
		"decode +9.0% (≥ +10%, between +5.1% and +14%)":       gain(Inconclusive, 0.09, 0.0519, 0.131, 0.10),
		"decode -0.1 MB (≤ 0.25 GB, at most 1.3 MB)":          delta,
		"decode 57.9 tok/s (≥ 50 tok/s, at least 56.7 tok/s)": level,
		"decode": {Name: "decode", Verdict: Invalid},
	} {
		if got := r.Brief(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := gain(Error, math.NaN(), 0, 0, 1).Brief(); got != "decode" {
		t.Errorf("NaN: %q", got)
	}
}
