package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mxflow/mxflow/engine/measure"
)

// tools are those that the flags name.
func (o options) tools() []tool {
	var named []tool
	for _, t := range []tool{
		{"llama-benchy", o.benchy, benchyArguments, readBenchy},
		{"guidellm", o.guide, guideArguments, readGuide},
	} {
		if t.program != "" {
			named = append(named, t)
		}
	}
	return named
}

// benchyArguments are for llama-benchy 0.4: one run of as many requests as
// streams. Everything is left out that would send other requests.
func benchyArguments(p place, tokens int, out string) []string {
	return []string{
		"--base-url", p.url + "/v1", "--model", "mock", "--tokenizer", p.tokenizer, "--book-url", p.book,
		"--pp", "16", "--tg", fmt.Sprint(tokens), "--runs", "1", "--concurrency", fmt.Sprint(p.streams),
		"--latency-mode", "none", "--no-warmup", "--skip-coherence", "--no-adapt-prompt",
		"--save-result", out, "--format", "json",
	}
}

// readBenchy reads times in ms and rates a second. The time between tokens is
// that of its rate of each request, since it reports no other.
func readBenchy(text []byte) (reported, error) {
	type numbers struct{ Values []float64 }
	var said struct {
		Benchmarks []struct {
			TTFT numbers `json:"e2e_ttft"`
			Rate numbers `json:"tg_req_throughput"`
		}
	}
	if err := decode(text, &said); err != nil {
		return reported{}, err
	}
	if len(said.Benchmarks) != 1 || len(said.Benchmarks[0].TTFT.Values) == 0 || len(said.Benchmarks[0].Rate.Values) == 0 {
		return reported{}, errors.New("its result has no e2e_ttft and tg_req_throughput of one benchmark")
	}
	b := said.Benchmarks[0]
	var itl []float64
	for _, rate := range b.Rate.Values {
		itl = append(itl, 1000/rate)
	}
	return reported{TTFT: mean(b.TTFT.Values), TTFTp99: quantile99(b.TTFT.Values), ITL: mean(itl)}, nil
}

// guideArguments are for guidellm 0.8.
func guideArguments(p place, tokens int, out string) []string {
	return []string{
		"run", "--backend", "kind=openai_http,target=" + p.url + ",model=mock",
		"--profile", fmt.Sprintf("kind=concurrent,streams=%d", p.streams),
		"--constraint", fmt.Sprintf("kind=max_requests,count=%d", p.streams),
		"--data", fmt.Sprintf("kind=synthetic_text,prompt_tokens=16,output_tokens=%d", tokens),
		"--tokenizer", "kind=huggingface_auto,model=" + p.tokenizer,
		"--output", "kind=json,path=" + out, "--disable-console",
	}
}

// readGuide reads guidellm's own means and percentiles, in ms.
func readGuide(text []byte) (reported, error) {
	type numbers struct {
		Successful *struct {
			Mean        float64
			Percentiles struct{ P99 float64 }
		}
	}
	var said struct {
		Benchmarks []struct {
			Metrics struct {
				TTFT numbers `json:"time_to_first_token_ms"`
				ITL  numbers `json:"inter_token_latency_ms"`
			}
		}
	}
	if err := decode(text, &said); err != nil {
		return reported{}, err
	}
	if len(said.Benchmarks) != 1 || said.Benchmarks[0].Metrics.TTFT.Successful == nil || said.Benchmarks[0].Metrics.ITL.Successful == nil {
		return reported{}, errors.New("its result has no time_to_first_token_ms and inter_token_latency_ms of one benchmark")
	}
	m := said.Benchmarks[0].Metrics
	return reported{TTFT: m.TTFT.Successful.Mean, TTFTp99: m.TTFT.Successful.Percentiles.P99, ITL: m.ITL.Successful.Mean}, nil
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func quantile99(values []float64) float64 { return measure.Quantile(sorted(values), 0.99) }

// decode is json.Unmarshal with the tool's name for errors.
func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("its result cannot be read: %w", err)
	}
	return nil
}
