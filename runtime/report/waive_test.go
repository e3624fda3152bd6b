package report

import (
	"strings"
	"testing"
	"time"
)

// TestExpiry: a waiver ends at a time that a person can name, later than now and
// within a year.
func TestExpiry(t *testing.T) {
	now := time.Date(2026, 11, 21, 20, 10, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"14d":                       "2026-12-05T20:10:00Z",
		"2w":                        "2026-12-05T20:10:00Z",
		"36h":                       "2026-11-23T08:10:00Z",
		"90m":                       "2026-11-21T21:40:00Z",
		" 1d ":                      "2026-11-22T20:10:00Z",
		"366d":                      "2027-11-22T20:10:00Z",
		"2026-12-24":                "2026-12-24T23:59:59Z",
		"2026-11-21":                "2026-11-21T23:59:59Z",
		"2026-12-24T18:00:00+01:00": "2026-12-24T17:00:00Z",
		"2026-12-24T18:00:00Z":      "2026-12-24T18:00:00Z",
	} {
		got, err := expiry(text, now)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q is %s (%v), want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	for text, problem := range map[string]string{
		"": "missing", "never": "not a time", "tomorrow": "not a time", "14": "not a time", "d": "not a time",
		"-1d": "not a time", "1.5d": "not a time",
		"1e9d": "not a time", "99999999999999999999d": "not a time", "99999999h": "not a time",
		"2026-13-01": "not a time", "24.12.2026": "not a time",
		"0d": "not in the future", "-3h": "not in the future", "0s": "not in the future",
		"2026-11-20": "not in the future", "2026-11-21T20:10:00Z": "not in the future",
		"367d": "more than a year", "9999h": "more than a year", "65535w": "more than a year",
		"9999-12-31": "more than a year", "2027-11-23": "more than a year",
	} {
		if _, err := expiry(text, now); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v, want %q", text, err, problem)
		}
	}
}
