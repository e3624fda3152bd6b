package engine

import "time"

func init() {
	register(Kind{
		Name: "embedded",
		Doc: "The small CPU engine inside mxflow itself: a decoder shaped like gpt-oss with constructed weights. " +
			"It needs no model, no GPU and no installation, so that plans can be tried anywhere.",
		Example: `engine "embedded" "tiny" {
  settings = {
    threads = 1
  }
}`,
		Command:             []string{"{mxflow}", "engine", "serve", "--port", "{port}"},
		Ready:               []Probe{{Path: "/health"}},
		DefaultReadyTimeout: time.Minute,
		DefaultStopGrace:    10 * time.Second,
		Settings: []Setting{
			{Name: "threads", Type: "number", Whole: true, Flag: "--threads", Default: "1", Doc: "Threads that share the tokens of a prefill or a recomputed prefix."},
			{Name: "layers", Type: "number", Whole: true, Flag: "--layers", Default: "4", Doc: "Decoder layers."},
			{Name: "seed", Type: "number", Whole: true, Flag: "--seed", Default: "0", Doc: "Seed of the weights, and of sampling where a request brings none."},
			{Name: "max_model_len", Type: "number", Whole: true, Flag: "--max-model-len", Default: "8192", Doc: "Longest sequence, prompt and output together, in tokens."},
			{Name: "max_num_seqs", Type: "number", Whole: true, Flag: "--max-num-seqs", Default: "4", Doc: "Requests that take turns at the model; others wait."},
			{Name: "served_model_name", Type: "string", Flag: "--served-model-name", Default: "mxflow-embedded", Doc: "Name that requests must use."},
		},
	})
}
