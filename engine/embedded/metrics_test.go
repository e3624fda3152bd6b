package embedded

import (
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scrape reads the metrics page: values by name with its label.
func scrape(t *testing.T, m *metrics) map[string]float64 {
	t.Helper()
	var page strings.Builder
	m.write(&page)
	values := map[string]float64{}
	for line := range strings.Lines(page.String()) {
		name, text, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "mxflow_embedded:")), " ")
		if name == "#" {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if _, twice := values[name]; err != nil || twice {
			t.Fatalf("%q in\n%s", line, page.String())
		}
		values[name] = value
	}
	return values
}

func TestMetricsPage(t *testing.T) {
	plain, drafting := plainAndDrafting(t, 4, func(c *Config) { c.PrefixCache = true })
	g := generation{prompt: plain.model.tk.encode(passage + " A harbour"), maxTokens: 12, sampling: sampling{TopP: 1}}
	for name, s := range map[string]*scheduler{"plain": plain, "drafting": drafting} {
		generated(t, s, g)
		values := scrape(t, s.metrics)
		for metric, want := range map[string]float64{
			"generation_tokens_total": 12, "prompt_tokens_total": float64(len(g.prompt)),
			"prefix_cache_queries_total": float64(len(g.prompt)), "prefix_cache_hits_total": 0,
			"num_preemptions_total": 0, "request_queue_time_seconds_count": 1, "kv_cache_usage_perc": 0,
		} {
			if got, there := values[metric]; !there || got != want {
				t.Errorf("%s: %s is %v (there: %v), want %v", name, metric, got, there, want)
			}
		}
		if sum, there := values["request_queue_time_seconds_sum"]; !there || sum < 0 {
			t.Errorf("%s: queue time %v", name, sum)
		}
		drafted, accepted := values["spec_decode_num_draft_tokens_total"],
			values["spec_decode_num_accepted_tokens_total"]
		_, position := values["spec_decode_num_accepted_tokens_per_pos_total{position=\"3\"}"]
		_, beyond := values["spec_decode_num_accepted_tokens_per_pos_total{position=\"4\"}"]
		first, there := values["spec_decode_num_accepted_tokens_per_pos_total{position=\"0\"}"]
		if name == "plain" && (drafted != 0 || accepted != 0 || position || first != 0 || !there) {
			t.Errorf("without speculation %v tokens were drafted and %v accepted: %v", drafted, accepted, values)
		}
		if name == "drafting" && (accepted == 0 || accepted >= drafted || !position || beyond) {
			t.Errorf("%v of %v accepted: %v", accepted, drafted, values)
		}
	}
}

// While a request runs, the gauge is its tokens over the number that fit.
func TestKVCacheUsage(t *testing.T) {
	for _, cached := range []bool{true, false} {
		plain, _ := plainAndDrafting(t, 1, func(c *Config) { c.KVCache = cached })
		g := generation{
			prompt: plain.model.tk.encode("The capital of France is"), maxTokens: 3,
			sampling: sampling{TopP: 1},
		}
		_, err := plain.generate(t.Context(), g, func(p piece) error {
			want := 0.0
			if cached {
				// 4 sequences of 2048; the newest token has no keys yet
				want = float64(len(g.prompt)+p.usage.CompletionTokens-1) / (4 * 2048)
			}
			if got := scrape(t, plain.metrics)["kv_cache_usage_perc"]; got != want {
				t.Errorf("kv cache %v: %v after %d tokens, want %v", cached, got, p.usage.CompletionTokens, want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A step may take long: a watcher must be answered meanwhile, and see who waits.
func TestMetricsAnswerDuringAStep(t *testing.T) {
	config := testConfig()
	config.MaxNumSeqs = 1
	s := newServer(config, io.Discard)
	if err := s.load(func(int) {}); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.handler())
	defer web.Close()
	engine := s.engine.Load()
	engine.turn <- struct{}{} // as a step that does not end
	answers := make(chan string, 2)
	for range 2 {
		go func() {
			_, answer := post(t, web.URL+"/v1/completions", paris)
			answers <- answer
		}()
	}
	for page := ""; !strings.Contains(page, "num_requests_running 1\n") ||
		!strings.Contains(page, "num_requests_waiting 1\n"); {
		_, page = get(t, web.URL+"/metrics") // a round trip each, so there is nothing to sleep for
	}
	<-engine.turn
	for range 2 {
		if answer := <-answers; !strings.Contains(answer, "Paris") {
			t.Error(answer)
		}
	}
	if n, waited := engine.metrics.placed.Load(), time.Duration(engine.metrics.queueTime.Load()); n != 2 ||
		waited <= 0 {
		t.Errorf("%d requests were placed after %v", n, waited)
	}
}
