package docker

import (
	"strings"
	"testing"
)

// TestReadStats: the daemon's samples, one after the other, as a stream has them.
func TestReadStats(t *testing.T) {
	for name, test := range map[string]struct {
		samples string
		want    int64
	}{
		"none":                   {``, 0},
		"no memory":              {`{"read":"2026-01-01T00:00:00Z"}`, 0},
		"cgroup v2":              {`{"memory_stats":{"usage":900,"stats":{"inactive_file":300}}}`, 600},
		"cgroup v1":              {`{"memory_stats":{"usage":900,"max_usage":900,"stats":{"total_inactive_file":300,"inactive_file":1}}}`, 600},
		"the most counts":        {`{"memory_stats":{"usage":900}} {"memory_stats":{"usage":100}}`, 900},
		"a spike between":        {`{"memory_stats":{"usage":500,"max_usage":500}} {"memory_stats":{"usage":400,"max_usage":2000}}`, 2000},
		"a spike of files":       {`{"memory_stats":{"usage":2000,"max_usage":2000,"stats":{"inactive_file":1800}}} {"memory_stats":{"usage":400,"max_usage":2000}}`, 400},
		"more files than in use": {`{"memory_stats":{"usage":100,"stats":{"inactive_file":300}}}`, 0},
		"cut off":                {`{"memory_stats":{"usage":900}} {"memory_stats":{"usa`, 900},
	} {
		t.Run(name, func(t *testing.T) {
			var c Container
			c.readStats(strings.NewReader(test.samples))
			if got := c.PeakMemory(); got != test.want {
				t.Errorf("the peak is %d, want %d", got, test.want)
			}
		})
	}
}
