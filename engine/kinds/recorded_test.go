package kinds_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(replayEnv); ok {
		fmt.Fprintln(os.Stderr, replay(role))
		os.Exit(1)
	}
	enginetest.Main(m)
}

// ours are the kinds that need no recording: they run themselves, or are not servers.
var ours = []string{"command", "embedded"}

func TestEveryKindHasARecording(t *testing.T) {
	var want []string
	for _, k := range kinds.All() {
		if !slices.Contains(ours, k.Name) {
			want = append(want, k.Name)
		}
	}
	if got := Recordings(); !slices.Equal(got, want) {
		t.Errorf("there are recordings of %q, want %q", got, want)
	}
}

// eachKind runs a test on the recording of every kind.
func eachKind(t *testing.T, test func(t *testing.T, k kinds.Kind, r Recording)) {
	for _, name := range Recordings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := ReadRecording(name)
			must.Do(t, err)
			k, ok := kinds.Lookup(name)
			if !ok || r.Kind != name || r.Of == "" {
				t.Fatalf("the recording is of kind %q, %q", r.Kind, r.Of)
			}
			test(t, k, r)
		})
	}
}

// launchOne launches with its own marks, since tests run side by side and stopping ends
// everything that carries the marks.
func launchOne(t *testing.T, spec engine.Spec) engine.Instance {
	t.Helper()
	inst, err := run.Launcher{}.Launch(t.Context(), spec, engine.Launch{
		ID: "recorded-" + rand.Text(), Owner: "recorded-" + rand.Text(),
		LogPath: filepath.Join(t.TempDir(), "engine.log"),
	})
	must.Do(t, err)
	t.Cleanup(func() {
		must.Do(t, inst.Stop(context.Background()))
	})
	return inst
}

// start launches a recorded server and waits until it is ready.
func start(t *testing.T, spec engine.Spec) engine.Instance {
	t.Helper()
	inst := launchOne(t, spec)
	must.Do(t, inst.Ready(t.Context()))
	return inst
}

// TestRecordedServers: what mxflow makes of a running server of each kind.
func TestRecordedServers(t *testing.T) {
	eachKind(t, func(t *testing.T, k kinds.Kind, r Recording) {
		inst := start(t, Replay(r.Kind, ""))
		readyInTime(t, k, r, inst)
		observed(t, k, r, inst)
		recognised(t, k, r, inst)
		answers(t, k, r, inst)
	})
}

func readyInTime(t *testing.T, _ kinds.Kind, r Recording, inst engine.Instance) {
	state, err := ReplayStateOf(inst.BaseURL())
	must.Do(t, err)
	if !state.Loaded {
		t.Error("it was called ready before its model was loaded")
	}
	if len(r.Expect.ReadyAfter) == 0 {
		t.Error("the recording does not say when it is ready")
	}
	for ask, times := range r.Expect.ReadyAfter {
		if state.Asked[ask] < times {
			t.Errorf("it was ready after %d of %s, want %d: asked were %v", state.Asked[ask], ask, times, state.Asked)
		}
	}
}

func answers(t *testing.T, k kinds.Kind, r Recording, inst engine.Instance) {
	client := openai.New(inst.BaseURL(), r.Model)
	if k.AskModel {
		client.Model = ""
	}
	defer client.Close()
	if len(r.Expect.Texts) == 0 {
		t.Error("the recording expects no text")
	}
	for path, want := range r.Expect.Texts {
		api := openai.Completions
		if strings.Contains(path, "chat") {
			api = openai.Chat
		}
		s, err := client.Stream(t.Context(), openai.Request{
			API: api, Prompt: "The capital of France is", MaxTokens: 3,
			IgnoreEOS: k.Ask.IgnoreEOS, ContinuousUsage: true, Timeouts: openai.Timeouts{Total: time.Minute},
		})
		if err != nil || s.Err != "" {
			t.Errorf("%s: %v %s", path, err, s.Err)
			continue
		}
		got := fmt.Sprintf("%q prompt %d output %d cached %d", s.Text, s.PromptTokens, s.OutputTokens, s.CachedTokens)
		if exp := fmt.Sprintf("%q prompt %d output %d cached %d", want, r.Expect.Prompt, r.Expect.Output,
			r.Expect.Cached); got != exp {
			t.Errorf("%s: got %s, want %s", path, got, exp)
		}
		if usage := s.TokenSource != "events"; usage != k.Ask.Usage {
			t.Errorf("%s: tokens were counted by %s, and the profile says usage %v", path, s.TokenSource, k.Ask.Usage)
		}
	}
	if client.Tokenizer = counter(k); k.Tokenize.Path != "" {
		if got, _, err := client.Tokenize(t.Context(), "The capital of France is"); err != nil ||
			got != r.Expect.Tokens {
			t.Errorf("it counted %d tokens, want %d: %v", got, r.Expect.Tokens, err)
		}
	}
}

// counter is how a profile has the client count tokens.
func counter(k kinds.Kind) openai.Tokenizer {
	count := func(ctx context.Context, answer any) (int, error) {
		n, err := observe.RunJQ(ctx, k.Tokenize.Count, answer)
		if f, ok := n.(float64); ok {
			return int(f), err
		}
		whole, _ := n.(int)
		return whole, err
	}
	return openai.Tokenizer{Path: k.Tokenize.Path, Field: k.Tokenize.Field, Count: count}
}

func TestRecordedCrashesAreRecognised(t *testing.T) {
	eachKind(t, func(t *testing.T, k kinds.Kind, r Recording) {
		if len(r.Crashes) == 0 {
			t.Error("the recording has no crash")
		}
		for _, name := range slices.Sorted(maps.Keys(r.Crashes)) {
			crash := r.Crashes[name]
			inst := launchOne(t, Replay(r.Kind, name))
			err := inst.Ready(t.Context())
			if early := crash.While != "request"; early != (err != nil) {
				t.Errorf("%s: Ready: %v", name, err)
			}
			if err == nil {
				client := openai.New(inst.BaseURL(), r.Model)
				s, err := client.Stream(t.Context(),
					openai.Request{API: openai.Chat, Prompt: "Hi", Timeouts: openai.Timeouts{Total: time.Minute}})
				if err == nil && s.Err == "" {
					t.Errorf("%s: it answered", name)
				}
			}
			if crash.Answer == "" { // else it keeps running
				<-inst.Exited()
				if exit := inst.Exit(); exit == nil || exit.Code != crash.Status {
					t.Errorf("%s: Exit is %v, want status %d", name, exit, crash.Status)
				}
			}
			d, found := k.Diagnose(inst.LogPath())
			if !found || string(d.Class) != crash.Class || !strings.Contains(d.Line, crash.Line) || d.Means == "" {
				t.Errorf("%s: it is diagnosed as %v (%v), want class %s and a line with %q", name, d, found,
					crash.Class, crash.Line)
			}
		}
	})
}

// The conformance test of launchers, with the recorded server of every kind.
func TestRecordedServersConform(t *testing.T) {
	eachKind(t, func(t *testing.T, _ kinds.Kind, r Recording) {
		spec := func(*testing.T) engine.Spec { return Replay(r.Kind, "") }
		var faults []enginetest.Fault
		for name, c := range r.Crashes {
			if c.While == "starting" {
				faults = append(faults, enginetest.Fault{
					Is: enginetest.DiesEarly, Status: c.Status, Says: c.Line,
					Spec: func(*testing.T) engine.Spec { return Replay(r.Kind, name) },
				})
				break
			}
		}
		enginetest.Run(t, run.Launcher{}, spec, faults...)
	})
}

func observed(t *testing.T, k kinds.Kind, r Recording, inst engine.Instance) {
	patterns := k.Patterns(nil)
	for name, theirs := range k.Metrics.Names {
		patterns = append(patterns, kinds.Pattern{Name: "metric." + name, Type: kinds.TypeNumber, Metric: theirs})
	}
	got, missing := map[string]string{}, map[string]string{}
	for _, o := range observe.All(t.Context(), inst, k.Metrics.Path, patterns) {
		if o.Missing != "" {
			missing[o.Name] = o.Missing
			continue
		}
		got[o.Name] = shown(o.Value)
	}
	for name, want := range r.Expect.Observed {
		if got[name] != want {
			t.Errorf("%s is %q, want %q %s", name, got[name], want, missing[name])
		}
	}
	// The recording shows everything that the profile can observe.
	for _, p := range patterns {
		if _, metric := strings.CutPrefix(p.Name, "metric."); metric && got[p.Name] == "" {
			t.Errorf("%s is not in the recorded page: %s", p.Name, missing[p.Name])
		} else if _, expected := r.Expect.Observed[p.Name]; !metric && !expected && got[p.Name] != "" {
			t.Errorf("%s is observed as %q, and the recording does not expect it", p.Name, got[p.Name])
		}
	}
	if d, broke := k.Diagnose(inst.LogPath()); broke {
		t.Errorf("a healthy log is taken for a crash: %v", d)
	}
}

// shown prints numbers to three places, so scaled ones can be written down.
func shown(v any) string {
	if f, ok := v.(float64); ok {
		text := strconv.FormatFloat(f, 'f', 3, 64)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return fmt.Sprint(v)
}

// A server is recognised as its kind.
func recognised(t *testing.T, k kinds.Kind, _ Recording, inst engine.Instance) {
	if got := run.Recognise(t.Context(), inst.Access()).Name; got != k.Name {
		t.Errorf("%s is taken for %q", k.Name, got)
	}
}

// logOf is an Instance that is only a log.
type logOf struct {
	engine.Instance
	path string
}

func (l logOf) LogPath() string { return l.path }

// logOfText is a log of a text.
func logOfText(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// shows checks what a kind finds in a log.
func shows(t *testing.T, kind, path string, want map[string]string) {
	t.Helper()
	got := inLog(t, kind, path)
	for name, want := range want {
		if o := got[name]; o.Value == nil && want != "" || o.Value != nil && shown(o.Value) != want {
			t.Errorf("%s: %s is %v (%s), want %q", path, name, o.Value, o.Line, want)
		}
	}
}

// inLog is what a kind finds in a log, by name.
func inLog(t *testing.T, kind, path string) map[string]observe.Observation {
	t.Helper()
	k, _ := kinds.Lookup(kind)
	var fromLog []kinds.Pattern
	for _, p := range k.Observe {
		if len(p.Log) > 0 {
			fromLog = append(fromLog, p)
		}
	}
	got := map[string]observe.Observation{}
	for _, o := range observe.All(t.Context(), logOf{path: path}, "", fromLog) {
		if o.Missing == "" {
			got[o.Name] = o
		}
	}
	return got
}

// A drafter is loaded after the model that it drafts for, and logs the same lines about
// itself. TensorRT-LLM also allocates a first KV cache to measure what memory is left.
func TestServedModelIsObserved(t *testing.T) {
	for kind, tc := range map[string]struct {
		log  string
		want map[string]string
	}{
		"vllm": {`
(EngineCore pid=7) INFO [core.py:103] Initializing a V1 LLM engine (v0.25.1) with config: model='m', speculative_config=SpeculativeConfig(method='eagle3', model='d', num_spec_tokens=3), dtype=torch.bfloat16, quantization=fp8
(EngineCore pid=7) INFO Using AttentionBackendEnum.FLASHINFER backend.
(EngineCore pid=7) INFO Using 'FLASHINFER_CUTLASS' Fp8 MoE backend out of potential backends: ['MARLIN'].
(EngineCore pid=7) INFO Using CutlassFP8ScaledMMLinearKernel for Fp8LinearMethod
(EngineCore pid=7) INFO Using AttentionBackendEnum.FLASH_ATTN backend.
(EngineCore pid=7) INFO Using TRITON Unquantized MoE backend out of potential backends: ['TRITON'].
(EngineCore pid=7) INFO Using MarlinLinearKernel for Fp8LinearMethod
(EngineCore pid=7) INFO torch.compile took 53.25 s in total
(EngineCore pid=7) INFO torch.compile took 7.58 s in total
(EngineCore pid=7) INFO GPU KV cache size: 1,000 tokens
(EngineCore pid=7) INFO GPU KV cache size: 325,495 tokens
`, map[string]string{
			"attention": "FLASHINFER", "moe_kernel": "FLASHINFER_CUTLASS",
			"linear_kernel": "CutlassFP8ScaledMMLinearKernel",
			"compile_s":     "53.25", "kv_capacity_tokens": "325495", "speculative": "eagle3",
		}},
		"sglang": {`
[11:37:18] Attention backend not specified. Use fa3 backend by default.
[11:38:20] Load weight end. elapsed=49.70 s, type=GptOssForCausalLM, quant=mxfp4, avail mem=77.50 GB, mem usage=61.55 GB.
[11:38:21] Using KV cache dtype: torch.float8_e4m3fn
[11:38:25] Attention backend not specified. Use triton backend by default.
[11:38:26] Load weight end. elapsed=1.20 s, type=LlamaForCausalLMEagle3, quant=none, avail mem=75.50 GB, mem usage=1.55 GB.
[11:38:27] Using KV cache dtype: torch.bfloat16
`, map[string]string{
			"attention": "fa3", "weights_gb": "66.089", "model_load_s": "49.7", "quantization": "mxfp4",
			"kv_cache_dtype": "float8_e4m3fn",
		}},
		"trtllm": {`
Model init total -- 35.18s
Model init total -- 4.20s
[TRT-LLM] [W] Attention window size 131072 exceeds upper bound 8224 for available blocks. Reducing to 8224.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.56 GiB for max tokens in paged KV cache (8224).
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.10 GiB for max tokens in paged KV cache (8224).
[TRT-LLM] [I] Memory used after loading model weights (inside torch) in memory usage profiling: 61.20 GiB
[TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 70.65 GiB, available KV cache memory when calculating max tokens: 45.95 GiB
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 43.87 GiB for max tokens in paged KV cache (1277952).
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 2.00 GiB for max tokens in paged KV cache (1277900).
`, map[string]string{
			"model_load_s": "35.18", "kv_memory_gb": "47.105", "kv_capacity_tokens": "1277952",
			"window_reduced": "0",
		}},
	} {
		shows(t, kind, logOfText(t, tc.log), tc.want)
	}
}

// TestWhichCUDAGraphs: what was captured, in whatever order, counts before what was asked
// for; lines of our own after vLLM 0.9 to 0.30, SGLang 0.4 to 0.5.17 and TensorRT-LLM 1.1.
func TestWhichCUDAGraphs(t *testing.T) {
	const config = "(EngineCore pid=8) INFO [core.py:113] Initializing a V1 LLM engine (v0.28.0) with config: " +
		"model='m', "
	const both = config + "enforce_eager=False, compilation_config={'cudagraph_mode': " +
		"<CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>}, seed=0\n"
	const mixed = "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  50%|#    | 4/8\rCapturing CUDA graphs " +
		"(mixed prefill-decode, PIECEWISE): 100%|##| 8/8\n"
	const decode = "Capturing CUDA graphs (decode, FULL): 100%|####| 8/8 [00:01<00:00, 8.0it/s]\n"
	for _, tc := range []struct{ kind, log, want string }{
		{"vllm", both + mixed + decode, "FULL_AND_PIECEWISE"},
		{"vllm", both + decode, "FULL_DECODE_ONLY"},
		{"vllm", both + mixed, "PIECEWISE"},
		{"vllm", decode + "Capturing CUDA graphs (mixed prefill-decode, FULL): 100%|####| 8/8\n", "FULL"},
		{
			"vllm",
			both + "WARNING [gpu_model_runner.py:900] Skipping CUDA graph capture. To turn it on, see cudagraph_mode\n",
			"NONE",
		},
		{"vllm", both, "FULL_AND_PIECEWISE"},
		{
			"vllm",
			both +
				"WARNING [compilation.py:1390] CUDAGraphMode.FULL_AND_PIECEWISE is not supported with PortBackend " +
				"(support: AttentionCGSupport.NEVER); setting cudagraph_mode=PIECEWISE because attention is compiled " +
				"piecewise\n", "PIECEWISE",
		},
		{
			"vllm", config + "enforce_eager=True, compilation_config={'cudagraph_mode': <CUDAGraphMode.NONE: 0>}\n",
			"NONE",
		},
		{"vllm", config + `enforce_eager=False, compilation_config={"use_cudagraph":true,"full_cuda_graph":false}` +
			"\n", "PIECEWISE"},
		{"vllm", "INFO [gpu_model_runner.py:6594] Graph capturing finished in 3 secs, took 0.62 GiB\n", ""},
		{
			"sglang",
			"Capture target prefill CUDA graph end. elapsed=1 s\nCapture target decode CUDA graph end. elapsed=1 s\n",
			"FULL_AND_PIECEWISE",
		},
		{
			"sglang",
			"Capture piecewise CUDA graph end. Time elapsed: 2 s.\nCapture cuda graph end. Time elapsed: 2 s.\n",
			"FULL_AND_PIECEWISE",
		},
		{
			"sglang",
			"Capture target prefill CUDA graph begin. backend=full, num_tokens=[4]\nCapture target prefill CUDA " +
				"graph end.\nCapture target verify CUDA graph end.\n", "FULL",
		},
		{
			"sglang",
			"Capture cuda graph end. Time elapsed: 2 s.\nCapture draft extend cuda graph end. Time elapsed: 2 " +
				"s.\nDecode batch, #running-req: 900, cuda graph: False\n", "FULL_DECODE_ONLY",
		},
		{
			"sglang",
			"server_args=ServerArgs(disable_cuda_graph=False)\nDecode batch, #running-req: 1, cuda graph: False\n",
			"NONE",
		},
		{"sglang", "server_args=ServerArgs(disable_cuda_graph=True)\n", "NONE"},
		{"sglang", "server_args=ServerArgs(disable_cuda_graph=False)\n", ""},
		{"trtllm", "Creating CUDA graph instances for 11 batch sizes.\n", "FULL_DECODE_ONLY"},
		{
			"trtllm",
			"Creating CUDA graph instances for 11 batch sizes.\nRun piecewise CUDA graph warmup for num tokens=8192\n",
			"FULL_AND_PIECEWISE",
		},
		{"trtllm", "LLM Args: model='m' cuda_graph_config=None moe_config=MoeConfig()\n", "NONE"},
	} {
		shows(t, tc.kind, logOfText(t, tc.log), map[string]string{"cuda_graphs": tc.want})
	}
}

// TestSGLangLog: a start of SGLang 0.5.17 on an H100 and some requests, gpt-oss-20b's
// shape with 4 layers. What was requested and what it chose are in different lines.
func TestSGLangLog(t *testing.T) {
	path := filepath.Join("testdata", "sglang-0.5.17.h100-gptoss20b.log")
	shows(t, "sglang", path, map[string]string{
		"attention": "fa3", "moe_kernel": "triton_kernel", "quantization": "mxfp4", "kv_cache_dtype": "bfloat16",
		"prefix_caching": "true", "cuda_graphs": "FULL_AND_PIECEWISE",
		"kv_capacity_tokens": "8853669", "weights_gb": "5.143", "model_load_s": "0.19", "max_model_len": "4096",
		"speculative":  "none",
		"max_num_seqs": "4096", "max_num_batched_tokens": "8192", "eager_decodes": "0", "retractions": "0",
	})
	k, _ := kinds.Lookup("sglang")
	if d, broke := k.Diagnose(path); broke {
		t.Errorf("a healthy log is taken for a crash: %v", d)
	}
	// Its processes end when told to; one that ends by itself is what broke.
	for line, broke := range map[string]bool{
		"[2026-11-23 23:03:26] Subprocess scheduler_0 (pid=18389) crashed with exit code -15. Triggering SIGQUIT for " +
			"cleanup...": false,
		"Exception: Capture prefill CUDA graph failed: CUDA out of memory. Tried to allocate 1.50 GiB.": true,
		"[2026-11-23 23:03:26] Subprocess scheduler_0 (pid=18389) crashed with exit code -9. Triggering SIGQUIT for " +
			"cleanup...": true,
	} {
		d, is := k.Diagnose(logOfText(t, line+"\n"))
		if is != broke || broke && (d.Class == "oom") != strings.Contains(line, "memory") {
			t.Errorf("%s: %v", line, d)
		}
	}
}

// TestOwnLog: the log of a start on an H200 that we recorded. Several observations come from its line of 3 kB:
// each is kept with its surroundings, so a glob is evidence for its own observation and for no other.
func TestOwnLog(t *testing.T) {
	path := filepath.Join("testdata", "vllm-0.25.1.h200-gptoss20b-marlin.log")
	got := inLog(t, "vllm", path)
	shows(t, "vllm", path, map[string]string{
		"attention": "FLASH_ATTN", "moe_kernel": "MARLIN", "dtype": "bfloat16", "quantization": "gpt_oss_mxfp4",
		"prefix_caching": "true", "cuda_graphs": "FULL_AND_PIECEWISE",
		"kv_capacity_tokens": "2058222", "kv_memory_gb": "101.265", "weights_gb": "14.818", "compile_s": "18.86",
		"jit_compilations": "0", "graph_memory_gb": "0.064", "max_num_batched_tokens": "8192",
	})
	about := map[string]string{
		"*enable_prefix_caching=True*":           "prefix_caching",
		"*with config: *dtype=torch.bfloat16*":   "dtype",
		"*Using 'MARLIN' Mxfp4 MoE backend*":     "moe_kernel",
		"*using flash_attn attention backend*":   "attention",
		"*with config: model='/models*":          "",
		"*INFO*":                                 "",
		"*with config: *never_said=yes*":         "",
		"*Using 'MARLIN' Mxfp4 MoE kernel*":      "",
		"*Available KV cache memory: 94.31 GiB*": "kv_memory_gb",
	}
	for text, want := range about {
		g, err := logscan.ParseGlob(text)
		must.Do(t, err)
		for name, o := range got {
			if len(o.Line) > 300 || o.To <= o.At && o.Line != "" {
				t.Errorf("%s stands at %d to %d of %q", name, o.At, o.To, o.Line)
			}
			if is := g.Names(o.Line, o.At, o.To, o.Whole); is != (name == want) {
				t.Errorf("%s is about %s: %v (%q)", text, name, is, o.Line)
			}
		}
	}
}
