package ready

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
)

// recognised are pages by which a running server shows what kind it is, in the
// order in which they are asked: some servers have pages of others. The kinds
// without one are taken for openai.
var recognised = []struct {
	kind string
	kinds.Probe
}{
	{"embedded", kinds.Probe{Path: "/metrics", Contains: "mxflow_embedded:"}},
	{"vllm", kinds.Probe{Path: "/metrics", Contains: "vllm:"}},
	{"sglang", kinds.Probe{Path: "/metrics", Contains: "sglang:"}},
	{"sglang", kinds.Probe{Path: "/server_info", Contains: `"tokenizer_path"`}},
	{"sglang", kinds.Probe{Path: "/get_server_info", Contains: `"tokenizer_path"`}},
	{"tabbyapi", kinds.Probe{Path: "/v1/models", Contains: `"tabbyAPI"`}}, // it has llama-server's /props
	{"llamacpp", kinds.Probe{Path: "/props", Contains: `"default_generation_settings"`}},
	{"ollama", kinds.Probe{Path: "/", Contains: "Ollama is running"}},
	{"transformers", kinds.Probe{Path: "/openapi.json", Contains: `"/load_model"`}},
}

// Recognise asks a running server which kind it is. It is openai, of which
// nothing is expected but the API, where no page of another kind answers.
func Recognise(ctx context.Context, client *http.Client, a engine.Access) kinds.Kind {
	pages := map[string]string{}
	for _, r := range recognised {
		text, asked := pages[r.Path]
		if !asked {
			text = pageText(ctx, client, a, r.Path)
			pages[r.Path] = text
		}
		if k, ok := kinds.Lookup(r.kind); ok && strings.Contains(text, r.Contains) {
			return k
		}
	}
	k, _ := kinds.Lookup("openai")
	return k
}

// pageText is the beginning of a page, empty where there is none.
func pageText(ctx context.Context, client *http.Client, a engine.Access, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.BaseURL+path, nil)
	if err != nil {
		return ""
	}
	for name, values := range a.Header {
		req.Header[name] = values
	}
	resp, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return string(text)
}
