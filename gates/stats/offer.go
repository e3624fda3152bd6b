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
	Unrecorded = 4
	Recorded   = LeastLaunches
	Clear      = 2
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

// Rung is the false pass rate of a try, given those before: each try that did not pass
// moves one step down the offered rates, each at most half of the one before. Past the
// lowest there is none: false.
func Rung(falsePass float64, try int) (rate float64, left bool) {
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
	for rate, left := falsePass, true; left; rate, left = Rung(falsePass, tries+1) {
		bound, tries = bound+rate, tries+1
	}
	return bound, tries
}

// Offer is the design that keeps to the error rates with min to max launches per arm, and
// the first look not before first: Unrecorded, Recorded or Clear. It returns an error
// that lists what is offered if nothing was calibrated.
//
// With min 1 there is a look at 1, which only screens. If max is less than Design.First,
// only that look can decide.
func Offer(falsePass, falseFail float64, min, max, first int) (Design, error) {
	d := Design{FalsePass: falsePass, FalseFail: falseFail, First: first}
	switch {
	case min < 1:
		return Design{}, fmt.Errorf("at least %d launches per arm are not offered: the least is 1, which only screens", min)
	case max < min:
		return Design{}, fmt.Errorf("at most %d launches per arm are fewer than at least %d", max, min)
	case max > MostLaunches:
		return Design{}, fmt.Errorf("at most %d launches per arm are not offered: the levels are calibrated for at most %d", max, MostLaunches)
	}
	var err error
	if d.Pass, err = levelOf("false_pass", passLevels, falsePass, max); err != nil {
		return Design{}, err
	}
	if d.Fail, err = levelOf("false_fail", failLevels, falseFail, max); err != nil {
		return Design{}, err
	}
	d.Looks = looksBetween(min, max, d.First)
	return d, nil
}

// looksBetween returns the standard looks, from the first allowed, with the declared
// ends.
func looksBetween(least, most, from int) (looks []int) {
	if least == 1 {
		looks = append(looks, 1)
	}
	for n := max(least, from); n < most; n++ {
		if n == least || slices.Contains(standard, n) {
			looks = append(looks, n)
		}
	}
	if most > 1 {
		looks = append(looks, most)
	}
	return looks
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
