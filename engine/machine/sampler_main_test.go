package machine

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// This test binary is also the nvidia-smi that its tests run: it plays a recorded stream,
// and misbehaves as told. It is also a program that records until it is killed.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "nvidia-smi") {
		os.Exit(fakeSMI(os.Args[1:]))
	}
	for name, play := range roles {
		if value := os.Getenv(name); value != "" {
			play(value)
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// roles are the programs that this test binary plays, by the variable that asks for it.
var roles = map[string]func(value string){
	"FAKE_SMI_RECORD": func(string) {
		if _, err := StartSampler(context.Background(), SamplerConfig{GPUs: []string{"GPU-a"}}); err != nil {
			os.Exit(9)
		}
		time.Sleep(time.Hour)
	},
	"GPU_TEST_HOLD": holdGPU,
}

// fakeMachine is what a fake nvidia-smi shows.
type fakeMachine struct {
	// stream is a recording with the names of its fields in the first line.
	stream string
	// apps are the processes on the GPUs, as --query-compute-apps prints them. It is a file, so it can change.
	apps string
	// does is what it does once the recording has been played: "end", "hang", "again" or "noise".
	does string
	// every is the time between lines.
	every time.Duration
}

// use puts a fake into PATH, and returns the file of its processes.
func (m fakeMachine) use(t *testing.T) (apps string) {
	t.Helper()
	self, err := os.Executable()
	must.Do(t, err)
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "nvidia-smi")); err != nil {
		t.Skip(err)
	}
	stream := m.stream
	if strings.Contains(stream, "\n") {
		stream = filepath.Join(dir, "stream.csv")
		write(t, stream, m.stream)
	}
	apps = filepath.Join(dir, "apps")
	write(t, apps, m.apps)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("FAKE_SMI_STREAM", stream)
	t.Setenv("FAKE_SMI_APPS", apps)
	t.Setenv("FAKE_SMI_DOES", m.does)
	t.Setenv("FAKE_SMI_EVERY", max(m.every, 2*time.Millisecond).String())
	return apps
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	// Atomically: it may be read at this moment.
	must.Do(t, os.WriteFile(path+".new", []byte(text), 0o644))
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// rows are the lines of a recording, cell by cell; units in brackets are not part of a field's name.
func rows(path string) (names []string, lines [][]string) {
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		var cells []string
		for cell := range strings.SplitSeq(line, ",") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		lines = append(lines, cells)
	}
	for i, name := range lines[0] {
		lines[0][i], _, _ = strings.Cut(name, " [")
	}
	return lines[0], lines[1:]
}

func fakeSMI(args []string) int {
	if pids := os.Getenv("FAKE_SMI_PIDS"); pids != "" && slices.Contains(args, "-lms") {
		if err := os.WriteFile(filepath.Join(pids, strconv.Itoa(os.Getpid())), nil, 0o644); err != nil {
			return 9
		}
	}
	if strings.HasPrefix(args[0], "--query-compute-apps=") {
		for {
			text, err := os.ReadFile(os.Getenv("FAKE_SMI_APPS"))
			if err != nil {
				return 9
			}
			os.Stdout.Write(text)
			if i := slices.Index(args, "-lms"); i < 0 {
				return 0
			} else if pause, err := time.ParseDuration(args[i+1] + "ms"); err == nil {
				time.Sleep(pause)
			}
		}
	}
	query, _ := strings.CutPrefix(args[0], "--query-gpu=")
	names, lines := rows(os.Getenv("FAKE_SMI_STREAM"))
	var columns []int
	for name := range strings.SplitSeq(query, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			fmt.Printf("Field %q is not a valid field to query.\n\n", name)
			return 2
		}
		columns = append(columns, i)
	}
	out := bufio.NewWriter(os.Stdout)
	show := func(row []string) {
		for n, i := range columns {
			if n > 0 {
				out.WriteString(", ")
			}
			if names[i] == "timestamp" {
				out.WriteString(time.Now().Format("2006/01/02 15:04:05.000"))
				continue
			}
			out.WriteString(row[i])
		}
		out.WriteString("\n")
		out.Flush()
	}
	if !slices.Contains(args, "-lms") {
		seen := map[string]bool{}
		for _, row := range lines {
			if uuid := row[slices.Index(names, "uuid")]; !seen[uuid] {
				show(row)
				seen[uuid] = true
			}
		}
		return 0
	}
	every, _ := time.ParseDuration(os.Getenv("FAKE_SMI_EVERY"))
	for {
		for _, row := range lines {
			show(row)
			time.Sleep(every)
		}
		switch os.Getenv("FAKE_SMI_DOES") {
		case "end":
			return 255
		case "hang":
			time.Sleep(time.Hour)
		case "noise":
			fmt.Print("Unable to determine the device handle for GPU 0000:0F:00.0: Unknown Error\n, , , \n")
		}
	}
}

// until waits until the sampler has something; the test's own time limit bounds it.
func until(t *testing.T, r *Sampler, there func() bool) {
	t.Helper()
	for !there() {
		if r.ctx.Err() != nil {
			t.Fatal("sampling ended")
		}
		time.Sleep(time.Millisecond)
	}
}

// has reports how many values a series has so far.
func (s *Sampler) has(name, source string) (n int) {
	s.done(func() {
		if one := s.series[track{name, source}]; one != nil {
			n = len(one.At)
		}
	})
	return n
}

func (s *Sampler) told(about string) (told bool) {
	s.done(func() { told = slices.ContainsFunc(s.notes, func(n note) bool { return n.about == about }) })
	return told
}

// still is a sampler whose loop does not run.
func still() *Sampler { return newSampler(context.Background(), SamplerConfig{}) }

// result is what a still one has.
func (s *Sampler) result() ([]measure.Series, []string) {
	close(s.ended)
	return s.Stop()
}

func begin(t *testing.T, c SamplerConfig) *Sampler {
	t.Helper()
	r, err := StartSampler(context.Background(), c)
	must.Do(t, err)
	t.Cleanup(func() { r.Stop() })
	return r
}

func find(series []measure.Series, name, source string) measure.Series {
	for _, s := range series {
		if s.Name == name && s.Source == source {
			return s
		}
	}
	return measure.Series{}
}

// sound fails the test if a series is not as measure.Series requires.
func sound(t *testing.T, series []measure.Series) {
	t.Helper()
	for _, s := range series {
		if len(s.At) == 0 || len(s.At) != len(s.Value) {
			t.Errorf("%s %s: %d times of %d values", s.Name, s.Source, len(s.At), len(s.Value))
		}
		for i := range s.At {
			if s.At[i] < 0 || i > 0 && s.At[i] <= s.At[i-1] || s.Value[i]-s.Value[i] != 0 {
				t.Errorf("%s %s: value %d is %v at %v", s.Name, s.Source, i, s.Value[i], s.At[i])
			}
		}
	}
}
