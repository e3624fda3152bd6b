package imported

import (
	"fmt"
	"regexp"
	"slices"
)

// negative is what is said of a number below 0 where there can be none.
const negative = "%v is negative, which no time, speed or count can be: the file was changed, is damaged, or a correction took off more than there was"

// amount is a number that is not negative; ok is false where it is absent or
// null.
func (n node) amount() (x float64, ok bool, err error) {
	x, ok, err = n.number()
	if err == nil && x < 0 {
		return 0, false, n.wrong(negative, x)
	}
	return x, ok, err
}

// amountUnits are the units of times, speeds and counts. Shares and percentages
// of what mxflow does not know may be differences, and so below 0.
var amountUnits = []string{"ms", "s", "us", "ns", "tok/s", "req/s", "tokens", "requests", "count", "tokens/sec/user"}

// amountStat are the statistics of an amount that are amounts themselves; bounds
// of an interval, or a skewness, need not be.
var amountStat = regexp.MustCompile(`^(value|mean|median|min|max|p[0-9_]+)$`)

// plausible refuses statistics that no measurement has: the file was then changed
// or damaged, or the format is read wrongly, and no number of it can be relied on.
func (m Metric) plausible(file, path string) error {
	known := m.Definition != unknownDefinition
	for _, stat := range m.StatNames() {
		x := m.Stats[stat]
		amount := amountStat.MatchString(stat) && (known || slices.Contains(amountUnits, m.Unit))
		if x < 0 && (amount || stat == "std") {
			return &Error{File: file, Path: path + "." + stat, Says: fmt.Sprintf(negative, x)}
		}
	}
	// Results are written with limited digits: a mean of equal values may be
	// beside them by a last one.
	low, hasLow := m.Stats["min"]
	high, hasHigh := m.Stats["max"]
	slack := 1e-6 * max(low, high, -low, -high)
	for _, stat := range m.StatNames() {
		x := m.Stats[stat]
		switch {
		case !amountStat.MatchString(stat):
		case hasLow && x < low-slack:
			return &Error{File: file, Path: path + "." + stat, Says: fmt.Sprintf("it is %v, and the min beside it is %v: the file was changed, or is damaged", x, low)}
		case hasHigh && x > high+slack:
			return &Error{File: file, Path: path + "." + stat, Says: fmt.Sprintf("it is %v, and the max beside it is %v: the file was changed, or is damaged", x, high)}
		}
	}
	return nil
}
