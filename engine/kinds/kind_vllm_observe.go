package kinds

// vllmConfig begins the line in which vLLM prints its whole configuration.
const vllmConfig = `LLM engine \(v[^)]*\) with config:.*[ ,(]`

var vllmObserve = []Pattern{
	{
		// The newest form goes on to list all back ends that could have been
		// chosen: only the name before the words counts.
		Name: "attention", Type: TypeString, Doc: "Attention back end in use.",
		Log: []string{
			`Using AttentionBackendEnum\.(?P<value>[A-Z0-9_]+) backend`,
			`Using (?P<value>[A-Z0-9_]+) attention backend\b`,
			`Using (?P<value>[A-Z][A-Za-z ]*?) backend on V[01] engine`,
		},
		Words: map[string]string{
			"Flash Attention": "FLASH_ATTN", "FlashInfer": "FLASHINFER", "Triton": "TRITON_ATTN", "FlexAttention": "FLEX_ATTENTION",
			"Triton MLA": "TRITON_MLA", "FlashMLA": "FLASHMLA", "Cutlass MLA": "CUTLASS_MLA", "FlashInfer MLA": "FLASHINFER_MLA",
		},
	},
	{
		// "Using Triton backend on V1 engine." is about attention: the short forms
		// must end the line.
		Name: "moe_kernel", Type: TypeString, Doc: "Back end of the experts in use.",
		Log: []string{
			`Using '?(?P<value>[A-Z][A-Z0-9_]*)'? \w+ MoE backend\b`,
			`\[MXFP4\] Using backend: (?P<value>[A-Za-z0-9_]+)`,
			`Using (?P<value>Marlin|Triton) backend\.?\s*$`,
			`Using (?P<value>FlashInfer MXFP4 [A-Z0-9]+(?: [A-Z0-9]+)?) backend\b`,
		},
		Words: map[string]string{"Marlin": "MARLIN", "Triton": "TRITON"},
	},
	{Name: "linear_kernel", Type: TypeString, Doc: "Kernel of quantised linear layers.", Log: []string{`Using (?P<value>\w*LinearKernel) for `}},
	{
		Name: "quantization", Type: TypeString, Doc: "Quantisation method of the weights.",
		Log: []string{vllmConfig + `quantization=(?P<value>[\w.-]+)`}, Words: map[string]string{"None": "none"},
	},
	{Name: "dtype", Type: TypeString, Doc: "Type of weights and activations.", Log: []string{vllmConfig + `dtype=(?:torch\.)?(?P<value>\w+)`}},
	{Name: "kv_cache_dtype", Type: TypeString, Doc: "Type of the KV cache.", Log: []string{vllmConfig + `kv_cache_dtype=(?P<value>\w+)`}},
	{
		Name: "cuda_graphs", Type: TypeBool, Doc: "Whether CUDA graphs are captured.",
		Log:   []string{vllmConfig + `enforce_eager=(?P<value>True|False)`, `Graph capturing finished in`},
		Words: map[string]string{"True": "false", "False": "true"},
	},
	{
		Name: "prefix_caching", Type: TypeBool, Doc: "Whether prompts are kept for later ones.",
		Log: []string{vllmConfig + `enable_prefix_caching=(?P<value>True|False)`}, Words: map[string]string{"True": "true", "False": "false"},
	},
	{
		Name: "speculative", Type: TypeString, Doc: "Method of speculative decoding.",
		Log: []string{vllmConfig + `speculative_config=(?:SpeculativeConfig\(method=')?(?P<value>\w+)`}, Words: map[string]string{"None": "none"},
	},
	{Name: "kv_capacity_tokens", Type: TypeNumber, Varies: true, Unit: "tokens", Doc: "Tokens that the KV cache holds.", Log: []string{`(?:GPU|CPU) KV cache size: (?P<value>[\d,]+) tokens`}},
	{Name: "kv_memory_gb", Type: TypeNumber, Varies: true, Unit: "GB", Scale: gibToGB, Doc: "Memory of the KV cache.", Log: []string{`Available KV cache memory: (?P<value>[\d.]+) GiB`}},
	{Name: "weights_gb", Type: TypeNumber, Unit: "GB", Scale: gibToGB, Doc: "GPU memory that the weights take.", Log: []string{`Model loading took (?P<value>[\d.]+) Gi?B`, `Loading model weights took (?P<value>[\d.]+) GB`}},
	{Name: "model_load_s", Type: TypeNumber, Varies: true, Unit: "s", Doc: "Time to load the weights.", Log: []string{`Model loading took [\d.]+ Gi?B(?: memory)? and (?P<value>[\d.]+) s`}},
	{Name: "compile_s", Type: TypeNumber, Varies: true, Unit: "s", Doc: "Time that torch.compile took.", Log: []string{`torch\.compile takes (?P<value>[\d.]+) s in total`}},
	{Name: "graph_memory_gb", Type: TypeNumber, Varies: true, Unit: "GB", Scale: gibToGB, Doc: "GPU memory that CUDA graphs take.", Log: []string{`Graph capturing finished in \d+ secs?, took (?P<value>-?[\d.]+) GiB`}},
	{Name: "max_model_len", Type: TypeNumber, Unit: "tokens", Doc: "Longest sequence that is served.", Path: "/v1/models", JQ: ".data[0].max_model_len"},
	{Name: "max_num_batched_tokens", Type: TypeNumber, Unit: "tokens", Doc: "Most tokens in one step.", Log: []string{`Chunked prefill is enabled with max_num_batched_tokens=(?P<value>\d+)`}},
	{Name: "acceptance_length", Type: TypeNumber, Varies: true, Unit: "tokens", Doc: "Mean accepted length of speculative decoding, as last logged.", Log: []string{`SpecDecoding metrics: Mean acceptance length: (?P<value>[\d.]+)`}},
	{Name: "fp4_fallback", Type: TypeCount, Doc: "Times that FP4 weights fell back to weight-only kernels, for lack of hardware support.", Log: []string{`does not have native support for FP4 computation`}},
	{Name: "autotuned", Type: TypeCount, Varies: true, Doc: "Times that FlashInfer's autotuner ran.", Log: []string{`\[Autotuner\]: Autotuning process ends`}},
	{Name: "preemptions", Type: TypeNumber, Varies: true, Doc: "Sequences that lost their KV cache to others.", Metric: vllmMetrics.Names["preemptions"]},
	{Name: "corrupted_requests", Type: TypeNumber, Varies: true, Doc: "Requests with NaN in their logits, where count_nans is on.", Metric: vllmMetrics.Names["corrupted_requests"]},
}
