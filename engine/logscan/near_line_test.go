package logscan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/require"
	"github.com/mxflow/mxflow/plans/redact"
)

// TestNearest: the lines with the most of the glob's text, each text once whatever its
// digits, and none that has next to nothing of it.
func TestNearest(t *testing.T) {
	const log = "INFO 10:00:01 loading weights\n" +
		"INFO 10:00:02 using kernel moe_marlin\n" +
		"INFO 10:00:03 using kernel moe_marlin\n" +
		"INFO 10:00:04 \x1b[1mUsing Kernel\x1b[0m moe_cutlas\n" +
		"INFO 10:00:05 kernel cache hit\n" +
		"INFO 10:00:06 using kernel moe_triton\n" +
		"warm 1%\rusing kernel moe_cutlass of nobody\rwarm 100%\n" +
		"bye"
	for glob, want := range map[string][]string{
		"*using kernel*moe_cutlass_fp4*": {"7 using kernel moe_cutlass of nobody", "4 INFO 10:00:04 Using Kernel moe_cutlas", "2 INFO 10:00:02 using kernel moe_marlin"},
		"*USING KERNEL moe_tritn*":       {"6 INFO 10:00:06 using kernel moe_triton", "2 INFO 10:00:02 using kernel moe_marlin", "4 INFO 10:00:04 Using Kernel moe_cutlas"},
		"*marlyn*":                       {"2 INFO 10:00:02 using kernel moe_marlin"},
		"*wholly*different*":             nil,
		"*ab*c*":                         nil, // too short for any
		"*INFO 10:00:05 loading*":        {"1 INFO 10:00:01 loading weights", "5 INFO 10:00:05 kernel cache hit", "2 INFO 10:00:02 using kernel moe_marlin"},
	} {
		near, err := Nearest(strings.NewReader(log), glob, 0)
		require.NoError(t, err)
		var got []string
		for _, n := range near {
			got = append(got, fmt.Sprintf("%d %s", n.LineNo, n.Line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", glob, got, want)
		}
	}
	if _, err := Nearest(strings.NewReader(log), "*", 0); err == nil {
		t.Error("every line is near to *")
	}
	redact.Know([]string{"hunter2-hunter2"})
	t.Cleanup(redact.Forget)
	near, err := Nearest(strings.NewReader("using kernel moe_cutlass with hunter2-hunter2\n"), "*using kernel moe_marlin*", 0)
	if err != nil || len(near) != 1 || near[0].Line != "using kernel moe_cutlass with "+redact.Mark {
		t.Errorf("%+v, %v", near, err)
	}
}

// Lines behind the first request, whatever they are, except what was there before it.
func TestNearestBehind(t *testing.T) {
	const log = "INFO 10:00:01 kv cache: fp8 (requested)\n" +
		"INFO 10:00:01 heartbeat 1\n" +
		"INFO 10:00:02 POST /v1/completions HTTP/1.1 200\n" +
		"INFO 10:00:02 heartbeat 2\n" +
		"INFO 10:00:03 step took 3 ms\n" +
		"INFO 10:00:04 step took 4 ms\n" +
		"INFO 10:00:05 fp8 cache: 512 blocks written\n"
	near, err := Nearest(strings.NewReader(log), "*kv cache: fp8 (requested)*", 2)
	if err != nil || len(near) != 2 || near[0].LineNo != 7 || near[1].LineNo != 5 {
		t.Errorf("%+v, %v", near, err)
	}
	if near, err := Nearest(strings.NewReader(log), "*fp8*", 7); err != nil || len(near) != 0 {
		t.Errorf("%+v, %v", near, err)
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("using kernel moe_marlin\nabc", "*using kernel*cutlass*")
	f.Add("\xff\xfe\r\r\n\x1b[", "é*ß\nabc")
	f.Fuzz(func(t *testing.T, log, glob string) {
		near, err := Nearest(strings.NewReader(log), glob, 0)
		if err != nil {
			return
		}
		for i, n := range near {
			if i >= nearest || n.LineNo < 1 || n.LineNo > strings.Count(log, "\n")+1 || i > 0 && n.shared > near[i-1].shared {
				t.Errorf("%+v", near)
			}
		}
	})
}
