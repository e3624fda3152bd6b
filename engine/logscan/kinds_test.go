package logscan_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
)

// vllmLog is a log as vLLM writes it while it serves: the start once, then for every
// request a line of the API server and, every ten seconds, one of the engine. colour puts
// terminal escapes around the process's name, as vLLM does by default.
func vllmLog(size int, colour bool) []byte {
	api, core := "(APIServer pid=55494) ", "(EngineCore_DP0 pid=55630) "
	if colour {
		api, core = "\x1b[0;36m(APIServer pid=55494)\x1b[0;0m ", "\x1b[0;36m(EngineCore_DP0 pid=55630)\x1b[0;0m "
	}
	var b bytes.Buffer
	for _, line := range []string{
		api + "INFO 02-09 07:27:18 [api_server.py:1292] vLLM API server version 0.14.0rc1",
		core + "INFO 02-09 07:27:30 [gpu_model_runner.py:3804] Starting to load model openai/gpt-oss-120b...",
		core + "INFO 02-09 07:27:30 [cuda.py:345] Using AttentionBackendEnum.FLASHINFER backend.",
		core + "INFO 02-09 07:27:30 [mxfp4.py:311] [MXFP4] Using backend: CUTLASS (--mxfp4-backend)",
		core + "Loading safetensors: 0%|          | 0/15\rLoading safetensors: 100%|██████████| 15/15",
		core + "INFO 02-09 07:28:38 [gpu_model_runner.py:3901] Model loading took 61.3380 GiB memory and 67.927823 seconds",
		core + "INFO 02-09 07:29:30 [kv_cache_utils.py:1305] GPU KV cache size: 545,824 tokens",
		api + "INFO:     Application startup complete.",
	} {
		b.WriteString(line + "\n")
	}
	for i := 0; b.Len() < size; i++ {
		if i%20 == 0 {
			fmt.Fprintf(&b, "%sINFO 02-09 07:%02d:%02d [loggers.py:257] Engine 000: Avg prompt throughput: %d.7 tokens/s, Avg generation throughput: 26.7 tokens/s, "+
				"Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.2%%, Prefix cache hit rate: 2.6%%\n", api, i/60%60, i%60, i%4000)
			continue
		}
		fmt.Fprintf(&b, "%sINFO:     127.0.0.1:%d - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n", api, 40000+i%20000)
	}
	return b.Bytes()
}

// addPatterns puts all patterns of a kind into a scan: observations, crashes and
// what is harmless.
func addPatterns(b *testing.B, kind kinds.Kind) *logscan.Scan {
	var globs []string
	for _, c := range kind.Crashes {
		globs = append(globs, c.Glob)
	}
	s, err := logscan.New(append(globs, kind.Harmless...))
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range kind.Patterns(nil) {
		if _, err := s.Expressions(p.Log); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkScanLog scans with all patterns of a profile. plain and colour are
// what engines write; traceback is an engine that prints nothing but its last
// words; hits has an observation in every line, which no engine does.
func BenchmarkScanLog(b *testing.B) {
	kind, ok := kinds.Lookup("vllm")
	if !ok {
		b.Skip("this build has no kind vllm, whose patterns are scanned for")
	}
	logs := []struct {
		name string
		log  []byte
	}{
		{"plain", vllmLog(32<<20, false)},
		{"colour", vllmLog(32<<20, true)},
		{"traceback", bytes.Repeat([]byte("(EngineCore_DP0 pid=205924) ERROR 02-07 10:13:13 [core.py:900]   File \"/workspace/vllm/vllm/v1/engine/core.py\", line 891, in run_engine_core\n"), 1<<17)},
		{"progress", bytes.Repeat([]byte(strings.Repeat("Loading safetensors: 53%|█████▎    | 8/15 [00:30<00:25,  3.67s/it]\r", 50)+"\n"), 1<<12)},
		{"hits", bytes.Repeat([]byte("(EngineCore_DP0 pid=55630) INFO 02-09 07:29:30 [kv_cache_utils.py:1305] GPU KV cache size: 545,824 tokens\n"), 1<<17)},
	}
	for _, l := range logs {
		b.Run(l.name, func(b *testing.B) {
			s := addPatterns(b, kind)
			b.SetBytes(int64(len(l.log)))
			for b.Loop() {
				if err := s.Read(bytes.NewReader(l.log)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkContains is the least that a scan without the automaton would cost: each line
// in lower case once, and bytes.Contains for a literal of every pattern.
func BenchmarkContains(b *testing.B) {
	kind, ok := kinds.Lookup("vllm")
	if !ok {
		b.Skip("this build has no kind vllm, whose patterns are scanned for")
	}
	var literals [][]byte
	for _, c := range kind.Crashes {
		longest := slices.MaxFunc(strings.Split(c.Glob, "*"), func(x, y string) int { return len(x) - len(y) })
		literals = append(literals, logscan.Fold(nil, []byte(longest)))
	}
	for _, p := range kind.Patterns(nil) {
		for _, expr := range p.Log {
			all, _, err := logscan.LiteralsOf(expr)
			if err != nil {
				b.Fatal(err)
			}
			for _, l := range all {
				literals = append(literals, []byte(l))
			}
		}
	}
	log := vllmLog(32<<20, false)
	b.SetBytes(int64(len(log)))
	var folded []byte
	for b.Loop() {
		for line := range bytes.Lines(log) {
			folded = logscan.Fold(folded[:0], line)
			for _, l := range literals {
				if bytes.Contains(folded, l) {
					break
				}
			}
		}
	}
	b.ReportMetric(float64(len(literals)), "literals")
}

// A scan of real logs for what every kind looks for finds the same as trying everything.
func TestScanSeesWhatKindsLookFor(t *testing.T) {
	for _, kind := range kinds.All() {
		for _, p := range kind.Observe {
			for _, sample := range engineLogs(t) {
				logscan.ScanBoth(t, sample, nil, p.Log)
			}
		}
	}
}

// engineLogs are real logs, if the checkout has them beside it.
func engineLogs(t *testing.T) (logs [][]byte) {
	paths, _ := filepath.Glob("../../../shared/samples/engine-logs/*.log")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, text)
	}
	return logs
}
