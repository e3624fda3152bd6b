package plans

import (
	"maps"
	"strings"
	"testing"
	"time"
)

func TestParseSLO(t *testing.T) {
	for text, want := range map[string]SLO{
		"ttft=300ms,tpot=50ms": {Limits: map[string]time.Duration{"ttft": 3e8, "tpot": 5e7}},
		"p99 ttft <= 500ms, p99 tpot ≤ 30ms, errors <= 0.1%": {
			Limits: map[string]time.Duration{"ttft": 5e8, "tpot": 3e7}, Percentile: 99, Errors: 0.001,
		},
	} {
		got, err := ParseSLO(text)
		if err != nil || !maps.Equal(got.Limits, want.Limits) || got.Percentile != want.Percentile ||
			got.Errors != want.Errors {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"": "is not a limit", "ttft": "is not a limit", "ttft=3": "positive time", "ttft <= -1s": "positive time",
		"tg <= 3s": "not one of", "p99 ttft <= 1s, p50 e2e <= 2s": "the same percentile",
		"p100 ttft <= 1s": "not between",
		"ttft=1s,ttft=2s": "two limits", "errors <= 1": "share of requests", "p99 errors <= 1%": "share of requests",
		"errors <= 1%": "limits no time",
	} {
		if got, err := ParseSLO(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
