package plans

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SLO is what a command line asks for: the limits of a workload, and which share of its
// requests must keep them.
type SLO struct {
	Limits map[string]time.Duration
	// Percentile and Errors are Capacity's; 0 if not given.
	Percentile, Errors float64
}

var objective = regexp.MustCompile(`^(?:p([0-9]+(?:\.[0-9]+)?)\s+)?([a-z0-9_]+)\s*(?:<=|≤|=)\s*(\S+)$`)

// ParseSLO reads "p99 ttft <= 500ms, p99 tpot <= 30ms, errors <= 0.1%", or without percentiles
// "ttft=500ms,tpot=30ms".
func ParseSLO(text string) (slo SLO, err error) {
	slo.Limits = map[string]time.Duration{}
	for one := range strings.SplitSeq(text, ",") {
		m := objective.FindStringSubmatch(strings.TrimSpace(one))
		if m == nil {
			return slo, fmt.Errorf("%q is not a limit, such as 'p99 ttft <= 500ms' or 'errors <= 0.1%%'", one)
		}
		percentile, metric, limit := m[1], m[2], m[3]
		if metric == "errors" {
			share, err := strconv.ParseFloat(strings.TrimSuffix(limit, "%"), 64)
			if err != nil || !strings.HasSuffix(limit, "%") || !(share > 0 && share <= 50) || percentile != "" {
				return slo, fmt.Errorf("%q is not a share of requests above 0%% and up to 50%%, such as "+
					"'errors <= 0.1%%'", one)
			}
			slo.Errors = share / 100
			continue
		}
		if !slices.Contains(Objectives, metric) {
			return slo, fmt.Errorf("%q is not one of %s, errors", metric, strings.Join(Objectives, ", "))
		}
		if _, twice := slo.Limits[metric]; twice {
			return slo, fmt.Errorf("%s has two limits", metric)
		}
		d, err := time.ParseDuration(limit)
		if err != nil || d <= 0 {
			return slo, fmt.Errorf("%s: %q is not a positive time, such as 300ms", metric, limit)
		}
		slo.Limits[metric] = d
		if percentile == "" {
			continue
		}
		p, err := strconv.ParseFloat(percentile, 64)
		switch {
		case err != nil || !(p >= 50 && p <= 99.9):
			return slo, fmt.Errorf("p%s is not between p50 and p99.9", percentile)
		case slo.Percentile != 0 && slo.Percentile != p:
			return slo, fmt.Errorf("p%g and p%g: give all limits the same percentile", slo.Percentile, p)
		}
		slo.Percentile = p
	}
	if len(slo.Limits) == 0 {
		return slo, fmt.Errorf("%q limits no time: add one, such as 'p99 ttft <= 500ms'", text)
	}
	return slo, nil
}

// BetweenTokens is a limit that only answers of two tokens and more can keep; empty if there is none.
func BetweenTokens(limits map[string]time.Duration) (metric string) {
	for _, metric := range []string{"tpot", "itl"} {
		if limits[metric] > 0 {
			return metric
		}
	}
	return ""
}

// NewCapacity is a search with everything at its default but for what an SLO asks.
func NewCapacity(slo SLO) *Capacity {
	c := &Capacity{}
	fill(c)
	if slo.Percentile > 0 {
		c.Percentile = slo.Percentile
	}
	c.Errors = slo.Errors
	return c
}
