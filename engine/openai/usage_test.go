package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestUsageIsNegotiatedOnce(t *testing.T) {
	tests := []struct {
		name    string
		refuses string
		want    UsageMode
		asked   int
	}{
		{"accepts all", "\x00", UsageContinuous, 1},
		{"refuses continuous usage", "continuous_usage_stats", UsageFinal, 2},
		{"refuses stream options", "stream_options", UsageNone, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				b, _ := io.ReadAll(r.Body)
				if strings.Contains(string(b), tt.refuses) {
					http.Error(w, `{"detail":"Unknown field: `+tt.refuses+`"}`, http.StatusUnprocessableEntity)
					return
				}
				script(completion("a", ""), end)(w, r)
			})
			for range 2 {
				if _, err := c.Stream(t.Context(), Request{Prompt: "x", ContinuousUsage: true}); err != nil {
					t.Fatal(err)
				}
			}
			if c.Usage() != tt.want || asked != tt.asked+1 {
				t.Errorf("usage %v after %d requests, want %v after %d", c.Usage(), asked, tt.want, tt.asked+1)
			}
		})
	}
}
