package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// standard are the looks that the levels were calibrated for.
var standard = []int{3, 4, 6, 8, 12}

const (
	// usualLaunches is the last look of the short levels, MostLaunches that of the long
	// ones and the last offered.
	usualLaunches = 8
	MostLaunches  = 12
)

// The first look by p values: without recorded launch noise, as engines whose starts are
// bimodal would break the error rate at 3; with it; and with it for two arms, where only
// clear cases are decided (see clear.go).
const (
	Unrecorded  = 4
	Recorded    = LeastLaunches
	TwoLaunches = 2
)

// level is the p at which a look decides, for an error rate over all looks: with looks up
// to usualLaunches, and up to MostLaunches.
type level struct{ rate, short, long float64 }

// The levels that keep to an error rate at the boundary, for candidate to base standard
// deviations of 1/20 to 20. TestCalibrate computes them (looks at 3, 4, 6, 8 and 12,
// 200,000 repetitions per ratio), below 0.005 TestCalibrateRare; here they are rounded
// down, to the reference's where it has some: passLevels of 0.01 and failLevels of 0.05.
// What one rate needs depends on the other by 1% at most, and fewer or later looks need
// less, which TestOffered shows with the last look anywhere from 3 to 12. A look at 2 in
// front adds at most a tenth of its level, which fits into what the ratio of 20 leaves.
var (
	passLevels = []level{
		{0.0001, 0.0000018, 0.0000018},
		{0.0002, 0.0000056, 0.0000054},
		{0.0005, 0.000022, 0.000021},
		{0.001, 0.00007, 0.00006},
		{0.002, 0.0002, 0.00016},
		{0.005, 0.00073, 0.00063},
		{0.01, 0.002, 0.0016},
		{0.02, 0.005, 0.0039},
		{0.05, 0.015, 0.013},
	}
	failLevels = []level{
		{0.01, 0.002, 0.0016},
		{0.02, 0.005, 0.0039},
		{0.05, 0.015, 0.013},
		{0.1, 0.039, 0.032},
	}
)

// AlphaForTry is the false pass rate of a try, given those before: each try that did not pass
// moves one step down the offered rates, each at most half of the one before. Past the
// lowest there is none: false.
func AlphaForTry(falsePass float64, try int) (rate float64, left bool) {
	if try <= 1 {
		return falsePass, true
	}
	i := slices.IndexFunc(passLevels, func(l level) bool { return math.Abs(l.rate-falsePass) < 1e-12 }) - (try - 1)
	if i < 0 {
		return 0, false
	}
	return passLevels[i].rate, true
}

// Bound is how often a change that does nothing passes at most, however often it is
// tried, and how many of those tries can pass.
func Bound(falsePass float64) (bound float64, tries int) {
	for rate, left := falsePass, true; left; rate, left = AlphaForTry(falsePass, tries+1) {
		bound, tries = bound+rate, tries+1
	}
	return bound, tries
}

// DesignFor is the design that keeps to the error rates with least to most launches per arm, and
// the first look not before first: Unrecorded, Recorded or TwoLaunches. It returns an error
// that lists what is offered if nothing was calibrated.
//
// With least 1 there is a look at 1, which only screens. If most is less than Design.First,
// only that look can decide.
func DesignFor(falsePass, falseFail float64, least, most, first int) (Design, error) {
	d := Design{FalsePass: falsePass, FalseFail: falseFail, First: first}
	switch {
	case least < 1:
		return Design{},
			fmt.Errorf("at least %d launches per arm are not offered: the least is 1, which only screens", least)
	case most < least:
		return Design{}, fmt.Errorf("at most %d launches per arm are fewer than at least %d", most, least)
	case most > MostLaunches:
		return Design{},
			fmt.Errorf("at most %d launches per arm are not offered: the levels are calibrated for at most %d",
				most, MostLaunches)
	}
	var err error
	if d.Pass, err = levelOf("false_pass", passLevels, falsePass, most); err != nil {
		return Design{}, err
	}
	if d.Fail, err = levelOf("false_fail", failLevels, falseFail, most); err != nil {
		return Design{}, err
	}
	// The standard looks, from the first allowed, with the declared ends.
	if least == 1 {
		d.Looks = append(d.Looks, 1)
	}
	for n := max(least, first); n < most; n++ {
		if n == least || slices.Contains(standard, n) {
			d.Looks = append(d.Looks, n)
		}
	}
	if most > 1 {
		d.Looks = append(d.Looks, most)
	}
	return d, nil
}

func levelOf(name string, levels []level, rate float64, last int) (float64, error) {
	for _, l := range levels {
		if math.Abs(l.rate-rate) < 1e-12 {
			if last > usualLaunches {
				return l.long, nil
			}
			return l.short, nil
		}
	}
	var offered []string
	for _, l := range levels {
		offered = append(offered, fmt.Sprint(l.rate))
	}
	return 0, fmt.Errorf("%s = %v is not calibrated: offered are %s", name, rate, strings.Join(offered, ", "))
}
