package verdict

import (
	"fmt"
	"math"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		f    float64
		unit string
		want string
	}{
		{0, "GB", "0 GB"},
		{math.Copysign(0, -1), "", "0"},
		{0.00004369, "GB", "0.00004369 GB"},
		{0.001, "s", "0.001 s"},
		{0.0123456, "s", "0.01235 s"},
		{31.677, "tok/s", "31.68 tok/s"},
		{999.96, "ms", "1000 ms"},
		{2449.83, "tok/s", "2450 tok/s"},
		{131072, "tokens", "131072 tokens"},
		{123456789, "tokens", "123456789 tokens"},
		{1e300, "ms", "1e+300 ms"},
		{3, "count", "3"},
		{1, "share", "100%"},
		{2.0 / 3, "share", "66.67%"},
		{0.1, "ratio", "+10.0%"},
		{-0.0001, "ratio", "-0.01%"},
		{31.59, "ratio", "+3159.0%"},
		{1e9, "ratio", "+1.0e+11%"},
	} {
		must.Equal(t, fmt.Sprint(c.f, " ", c.unit), Number(c.f, c.unit), c.want)
	}
	for _, c := range []struct {
		a, b float64
		unit string
		want string
	}{
		{0.0996, 0.1, "ratio", "+9.96% and +10.00%"},
		{0.1, 0.1, "ratio", "+10.0% and +10.0%"},
		{-0.00001, 0, "ratio", "-0.001% and +0.0%"},
		{0.98999, 0.99, "share", "98.999% and 99%"},
		{31.999, 32, "tok/s", "31.999 tok/s and 32 tok/s"},
		{1.5, 1.5 + 4e-14, "s", "1.5 s and 1.50000000000004 s"},
		{100, math.Nextafter(100, 101), "tok/s", "100 tok/s and 100 tok/s"},
	} {
		a, b := FormatDistinct(c.a, c.b, c.unit)
		must.Equal(t, "got", a+" and "+b, c.want)
	}
}

func TestPlusMinus(t *testing.T) {
	for std, want := range map[float64]string{0: "57.85 ± 0", 1234.5: "57.85 ± 1234", 99.4: "57.85 ± 99", 0.2134: "57.85 ± 0.21", 0.0123: "57.85 ± 0.012"} {
		must.Equal(t, std, PlusMinus(57.854, std), want)
	}
}

func TestInterval(t *testing.T) {
	low, high := 0.98, 1.0567
	for unit, want := range map[string]string{"times": "1.02× [0.98, 1.06]", "tok/s": "1.02 tok/s [0.98, 1.057]", "ratio": "+102.0% [+98.0%, +105.7%]"} {
		must.Equal(t, unit, Interval(1.02, &low, &high, unit), want)
	}
	must.Equal(t, "without bounds", Interval(1.02, nil, &high, "ms"), "1.02 ms")
}

func TestP(t *testing.T) {
	for _, c := range []struct {
		p        float64
		want, is string
	}{
		{0, "< 0.000001", "p < 0.000001"},
		{5.4e-25, "< 0.000001", "p < 0.000001"},
		{0.00000189, "0.000002", "p = 0.000002"},
		{0.000066, "0.000066", "p = 0.000066"},
		{0.002041, "0.00204", "p = 0.00204"},
		{0.04834, "0.0483", "p = 0.0483"},
		{0.999, "0.999", "p = 0.999"},
		{0.9995, "> 0.999", "p > 0.999"},
		{1, "> 0.999", "p > 0.999"},
		{math.NaN(), "NaN", "p = NaN"},
	} {
		must.Equal(t, c.p, P(c.p), c.want)
		must.Equal(t, c.p, PIs(c.p), c.is)
	}
}

func TestPLevel(t *testing.T) {
	for level, want := range map[float64]string{
		0.002: "0.002", 0.015: "0.015", 0.005: "0.005", 0.015 / 4: "0.00375", 0.015 / 8: "0.001875", 0.002 / 3: "0.0006667", 0.0395: "0.0395", 0.002 / 160: "0.0000125", 0: "0",
	} {
		must.Equal(t, level, PLevel(level), want)
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		x        float64
		decimals int
		want     string
	}{
		{0.382, 1, "+38.2%"},
		{-0.03, 1, "-3.0%"},
		{-0.0004, 1, "-0.04%"},
		{-0.000325774, 1, "-0.03%"},
		{0.00049, 1, "+0.05%"},
		{0.005, 0, "+0.5%"},
		{-0.0000004, 1, "+0.0%"},
		{-0.0000004, 5, "-0.00004%"},
		{math.Copysign(0, -1), 1, "+0.0%"},
		{0.6, 0, "+60%"},
		{1e6, 1, "+1.0e+08%"},
		{-1, 1, "-100.0%"},
		{-1.2, 1, "-120.0% (2.2 times as much)"},
		{-53.739, 1, "-5373.9% (54.7 times as much)"},
	} {
		must.Equal(t, fmt.Sprint(c.x, " ", c.decimals), Percent(c.x, c.decimals), c.want)
	}
}

func TestExact(t *testing.T) {
	for text, want := range map[string]string{"+10.0%": "+10%", "-0.50%": "-0.5%", "+100%": "+100%", "+1.0e+11%": "+1.0e+11%", "10.0 GB": "10.0 GB", "pass": "pass"} {
		must.Equal(t, text, bare(text), want)
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		what, want string
	}{
		{0, "error", "0 errors"},
		{1, "process", "1 process"},
		{2, "process", "2 processes"},
		{1, "launch", "1 launch"},
		{8, "launch", "8 launches"},
		{0, "launch", "0 launches"},
		{3, "case", "3 cases"},
	} {
		if got := Count(c.n, c.what); got != c.want || c.what == "launch" && Launches(c.n) != got {
			t.Errorf("%d %s: %q, want %q", c.n, c.what, got, c.want)
		}
	}
}
