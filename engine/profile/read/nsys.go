package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mxflow/mxflow/engine/profile"
)

// reports are the tables of nsys stats that show everything read from one.
var reports = []string{"cuda_gpu_trace", "cuda_api_trace", "nvtx_pushpop_trace"}

// clockReport queries the wall clock at which a session started, which no table has. It
// comes with nsys.
const clockReport = "_sql:sql=SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"

// openReport reads a report through nsys stats: nsys alone knows the format.
func openReport(ctx context.Context, path string, o profile.Options) (*profile.Analysis, error) {
	tool, err := exec.LookPath("nsys")
	if err != nil {
		return nil, fmt.Errorf("%s is an Nsight Systems report, but nsys is not in PATH: on a machine that has it, run nsys stats --format csv --output - --report %s %s > kernels.csv",
			path, strings.Join(reports, ","), filepath.Base(path))
	}
	dir, err := os.MkdirTemp("", "mxflow-nsys-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tables, err := os.Create(filepath.Join(dir, "tables.csv"))
	if err != nil {
		return nil, err
	}
	defer tables.Close()
	stats := func(reports ...string) error {
		args := []string{"stats", "--format", "csv", "--output", "-", "--force-export=true", "--sqlite", filepath.Join(dir, "export.sqlite")}
		for _, r := range reports {
			args = append(args, "--report", r)
		}
		var said bytes.Buffer
		c := exec.CommandContext(ctx, tool, append(args, path)...)
		c.Stdout, c.Stderr = tables, &said
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s: nsys stats: %w\n%.2000s", path, err, strings.TrimSpace(said.String()))
		}
		_, err := tables.WriteString("\n")
		return err
	}
	if !o.From.IsZero() || !o.To.IsZero() {
		// First, as the clock says which rows count. Without it no row does.
		_ = stats(clockReport)
	}
	if err := stats(reports...); err != nil {
		return nil, err
	}
	a, err := open(ctx, tables.Name(), o)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // without the name of the tables
		}
		return nil, fmt.Errorf("%s, as tables of nsys stats: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	a.Files[0].Name, a.Files[0].Bytes = filepath.Base(path), info.Size()
	if a.Files[0].Digest, err = digest(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}
