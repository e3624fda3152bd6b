package trace

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// BenchmarkTorch reads 300 MB of events as PyTorch writes them, generated and not kept.
func BenchmarkTorch(b *testing.B) {
	const size = 300_000_000
	for _, packed := range []bool{false, true} {
		b.Run(map[bool]string{false: "json", true: "json.gz"}[packed], func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.json")
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			var to io.WriteCloser = f
			if packed {
				to, _ = gzip.NewWriterLevel(f, gzip.BestSpeed)
			}
			out := bufio.NewWriterSize(to, 1<<20)
			written, _ := fmt.Fprint(out, `{"baseTimeNanoseconds":1790857026000000000,"traceEvents":[`,
				process(930, "engine"))
			kernels := 0
			for step := 0; written < size; step++ {
				at := 4485152927469.347 + 4000*float64(step)
				n, _ := fmt.Fprint(out, ",\n", other("gpu_user_annotation", "execute_context_0(0)_generation_1(1)", 0,
					7, at, 3900, fmt.Sprintf(`"External id":%d`, step+1)))
				written += n
				for i := range 500 {
					kernels++
					n, _ = fmt.Fprintf(out, `,
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":930,"tid":930,"ts":%.3f,"dur":2.61,"args":{"External id":%d,"cbid":211,"correlation":%[2]d}},
{"ph":"s","id":%[2]d,"pid":930,"tid":930,"ts":%.3[1]f,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"kernel","name":"void ns::moe::gemm_kernel<%[3]d, 128, cutlass::bfloat16_t, float, true>(cutlass::bfloat16_t const*, float*, int, bool)","pid":0,"tid":7,"ts":%.3[4]f,"dur":5.504,"args":{"External id":%[2]d,"queued":0,"device":0,"context":1,"stream":7,"correlation":%[2]d,"registers per thread":168,"shared memory":0,"blocks per SM":0.007576,"warps per SM":0.030303,"grid":[132,1,1],"block":[384,1,1],"est. achieved occupancy %%":0}},
{"ph":"f","id":%[2]d,"pid":0,"tid":7,"ts":%.3[4]f,"cat":"ac2g","name":"ac2g","bp":"e"}`, at+7*float64(i)-50, kernels, i,
						at+7*float64(i))
					written += n
				}
			}
			fmt.Fprint(out, "]}")
			if err := out.Flush(); err != nil {
				b.Fatal(err)
			}
			if packed {
				to.Close()
			}
			b.SetBytes(int64(written))
			for b.Loop() {
				a, err := Open(b.Context(), []string{path}, Options{})
				if err != nil || a.Parts[0].Count() != kernels {
					b.Fatal(err)
				}
			}
			var used runtime.MemStats
			runtime.ReadMemStats(&used)
			b.ReportMetric(float64(used.Sys)/(1<<20), "MiB-from-system")
		})
	}
}
