package ready

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
)

// owners maps the "owned_by" in a server's list of models to the kind that writes it. Any
// other name says nothing: proxies and forks write their own.
var owners = map[string]string{
	"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "tensorrt_llm": "trtllm", "library": "ollama", "tabbyapi": "tabbyapi",
	"mxflow": "embedded",
}

// looks is what a server appears to be.
type looks struct {
	// kind is the kind that it certainly is; empty if nothing shows it.
	kind string
	// by is what shows it.
	by string
	// wrong is what is definitely wrong with its answers; empty if nothing is.
	wrong string
}

// identify determines what runs behind the address. It is called at most twice per
// launch, and requests only pages that cost an engine nothing.
func (w Waiter) identify(ctx context.Context) looks {
	client := w.client()
	a := w.ask(ctx, client, kinds.Probe{}, "/v1/models", firstTry)
	if wrong := w.wrongAnswer(a); wrong != "" {
		return looks{wrong: wrong}
	}
	var list struct {
		Data []struct {
			OwnedBy string `json:"owned_by"`
		} `json:"data"`
	}
	if a.status == http.StatusOK && json.Unmarshal([]byte(a.body), &list) == nil && len(list.Data) > 0 {
		owner := list.Data[0].OwnedBy
		if kind := owners[strings.ToLower(owner)]; kind != "" {
			return looks{kind: kind, by: fmt.Sprintf("its models are owned_by %q", logscan.Clean(owner))}
		}
		return looks{}
	}
	if strings.HasPrefix(a.server, "llama.cpp") {
		return looks{kind: "llamacpp", by: "it calls itself llama.cpp"}
	}
	if root := w.ask(ctx, client, kinds.Probe{}, "/", firstTry); strings.HasPrefix(root.body, "Ollama is running") {
		return looks{kind: "ollama", by: `it says "Ollama is running"`}
	}
	return looks{}
}

// stranger explains why the server cannot be the engine that the plan names; it is empty
// if it may be.
func (w Waiter) stranger(l looks) string {
	switch {
	case l.wrong != "":
		return l.wrong
	case l.kind == "" || l.kind == w.Kind.Name || w.Kind.Name == "openai":
		return ""
	}
	if _, known := kinds.Lookup(w.Kind.Name); !known {
		return "" // a kind of the plan's own
	}
	return fmt.Sprintf("the engine there is of kind %s (%s), but the plan says %s: correct the kind, or the address", l.kind, l.by, w.Kind.Name)
}

// unknownPage explains why the server does not know a readiness page: it is another kind
// of engine or, if nobody is starting it, the path is wrong. It is empty if waiting may
// help.
func (w Waiter) unknownPage(ctx context.Context, a answer) string {
	if other := w.stranger(w.identify(ctx)); other != "" {
		return other
	}
	if !w.Settled || ctx.Err() != nil {
		return ""
	}
	return fmt.Sprintf("it lacks the readiness page of kind %s (%s): correct the path in url, or the kind", w.Kind.Name, a.says)
}

// recognised are pages by which a running server shows its kind, in the order in which
// they are requested: some servers have pages of others. Kinds without one are taken for
// openai.
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

// Recognise determines the kind of a running server. If no page of another kind answers,
// it is openai, of which nothing but the API is expected.
func Recognise(ctx context.Context, client *http.Client, a engine.Access) kinds.Kind {
	w := Waiter{Access: a}
	pages := map[string]string{}
	for _, r := range recognised {
		text, asked := pages[r.Path]
		if !asked {
			if found := w.ask(ctx, client, kinds.Probe{}, r.Path, 5*time.Second); found.status == http.StatusOK {
				text = found.body
			}
			pages[r.Path] = text
		}
		if k, ok := kinds.Lookup(r.kind); ok && strings.Contains(text, r.Contains) {
			return k
		}
	}
	k, _ := kinds.Lookup("openai")
	return k
}
