package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	process "github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/testing/dockertest"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
	"github.com/mxflow/mxflow/internal/testing/tinymodel"
)

// foreignEngine is a real engine that somebody else wrote, as scripts/foreign
// installs it.
type foreignEngine struct {
	// part is its word in MXFLOW_TEST_REQUIRE; program is where it lies, "" where
	// this machine has none.
	part, program string
	// testdata/plans/foreign_KIND.hcl is a port of it. It serves a GGUF file, or a folder of Hugging Face;
	// prepare makes of the file what it serves.
	kind    string
	folder  bool
	prepare func(t *testing.T, program, dir, gguf string)
	// observed must have been seen in each launch.
	observed []string
	// honest are ports for TestHonest, of which testdata/plans/honest_KIND.hcl knows.
	honest []string
	// drafts is that it decodes speculatively and counts how that went.
	drafts bool
	// roughly says that nobody counts tokens for mxflow before they are sent: there
	// is no tokenizer to ask, and too few of the tiny vocabulary's words are common.
	roughly bool
}

func foreignEngines() []foreignEngine {
	python := os.Getenv("MXFLOW_TEST_PYTHON")
	inPython := func(name string) string {
		if python == "" {
			return ""
		}
		return filepath.Join(python, "bin", name)
	}
	return []foreignEngine{
		{
			part: "llama-server", program: os.Getenv("MXFLOW_TEST_LLAMA_SERVER"), kind: "llamacpp",
			observed: []string{"attention", "quantization", "kv_capacity_tokens", "weights_gb", "version"},
			drafts:   true,
			honest: []string{
				"nothing", "threads", "attention", "cache", "speculation", "draft", "batches", "slots", "repacking",
				"weights", "weights5", "weights4",
			},
		},
		{
			part: "vllm", program: inPython("vllm"), kind: "vllm",
			folder:   true,
			observed: []string{"kv_capacity_tokens", "max_model_len", "version", "dtype", "speculative"},
			drafts:   true,
			honest:   []string{"prefixes", "speculation", "sequences", "format", "compiled"},
		},
		{
			part: "transformers", program: inPython("transformers"), kind: "transformers",
			folder:  true,
			roughly: true,
			honest:  []string{"attention", "format", "batching", "compiled"},
		},
		{
			part: "ollama", program: os.Getenv("MXFLOW_TEST_OLLAMA"), kind: "ollama", prepare: createInOllama,
			observed: []string{
				"attention", "quantization", "kv_capacity_tokens", "kv_cache_dtype", "weights_gb", "version",
				"llama_cpp", "slots", "keep_alive", "model_loads",
			},
			roughly: true,
		},
	}
}

// createInOllama makes the model "tiny" by a Modelfile, as its users do: with a server
// of its own, since that is what writes models.
func createInOllama(t *testing.T, program, dir, gguf string) {
	modelfile := filepath.Join(dir, "Modelfile")
	must.Write(t, modelfile, "FROM "+gguf+"\n")
	port, release, err := process.FreePort()
	must.Do(t, err)
	defer release()
	ollama := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "OLLAMA_MODELS="+filepath.Join(dir, "models"),
			fmt.Sprintf("OLLAMA_HOST=127.0.0.1:%d", port))
		return cmd
	}
	server := ollama("serve")
	must.Do(t, server.Start())
	defer func() { _ = server.Process.Signal(syscall.SIGTERM); _ = server.Wait() }()
	var out []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		out, err = ollama("create", "tiny", "-f", modelfile).CombinedOutput()
		if err == nil {
			return
		}
	}
	t.Fatalf("ollama create: %v\n%s", err, out)
}

// TestForeignEngines takes a port of each real engine through a whole plan: the
// answer must be the one that the model's weights were made for.
func TestForeignEngines(t *testing.T) {
	for _, f := range foreignEngines() {
		t.Run(f.part, func(t *testing.T) {
			missing := error(nil)
			if f.program == "" {
				missing = errors.New("nothing names it; scripts/foreign installs it and runs this test")
			} else if _, err := os.Stat(f.program); err != nil {
				missing = err
			}
			enginetest.Require(t, f.part, missing)
			f.run(t)
		})
	}
}

func (f foreignEngine) run(t *testing.T) {
	dir := t.TempDir()
	model := tinymodel.New(1)
	gguf, folder := filepath.Join(dir, "tiny.gguf"), filepath.Join(dir, "tiny")
	must.Do(t, errors.Join(model.WriteGGUF(gguf), model.WriteHuggingFace(folder)))
	if f.prepare != nil {
		f.prepare(t, f.program, dir, gguf)
	}
	served := gguf
	if f.folder {
		served = folder
	}
	plan := filepath.Join(dir, "plan.hcl")
	must.Do(t, os.CopyFS(dir, os.DirFS("testdata/plans")))
	must.Do(t, os.Rename(filepath.Join(dir, "foreign_"+f.kind+".hcl"), plan))
	exit, out := program(t, "", []string{"HOME=" + dir}, "apply", plan,
		"--var", "server="+f.program, "--var", "model="+served, "--var", "dir="+dir, "--var",
		"answer="+tinymodel.Answer(10))
	if t.Log(out); exit != 0 {
		t.Fatalf("apply: %d", exit)
	}
	f.check(t, dir)
}

// foreignLaunch is what a test reads of a launch.
type foreignLaunch struct {
	ID       string                    `json:"id"`
	Observed map[string]map[string]any `json:"observed"`
	Notes    []json.RawMessage         `json:"notes"`
	Cells    []measure.CellRun         `json:"cells"`
	Metrics  map[string]struct {
		Stats map[string]float64 `json:"stats"`
	} `json:"metrics"`
}

// check reads the launches in the ledger.
func (f foreignEngine) check(t *testing.T, dir string) {
	out, err := exec.Command(scenario.Program, "show", "latest", dir, "--json").Output()
	if err != nil {
		t.Fatalf("show: %v", err)
	}
	var run struct {
		Launches []foreignLaunch `json:"launches"`
	}
	must.Do(t, json.Unmarshal(out, &run))
	if out, err := exec.Command(scenario.Program, "audit", "replay", dir).CombinedOutput(); err != nil {
		t.Errorf("the metrics are not what is computed from the raw data: %v\n%s", err, out)
	}
	must.Equal(t, "launches, of which 2 qualify", len(run.Launches), 10)
	measured := 0
	for _, l := range run.Launches {
		var seen []string
		for name := range l.Observed {
			seen = append(seen, fmt.Sprintf("%s=%v", name, l.Observed[name]["value"]))
		}
		slices.Sort(seen)
		t.Logf("launch %s: %s; notes %s", l.ID, strings.Join(seen, " "), l.Notes)
		for _, want := range f.observed {
			if l.Observed[want] == nil {
				t.Errorf("launch %s did not observe %s", l.ID, want)
			}
		}
		if len(l.Cells) == 0 {
			continue // a qualification sends no workload
		}
		measured++
		for cell, tokens := range map[string]float64{
			"busy.d0.c1": 40, "busy.d0.c2": 40, "busy.d64.c1": 104,
			"busy.d64.c2": 104,
		} {
			f.cell(t, l, cell, tokens)
		}
	}
	must.Equal(t, "measured launches", measured, 8)
}

// cell reads what was measured of a cell of the workload "busy", whose prompts
// have so many tokens with what comes before them.
func (f foreignEngine) cell(t *testing.T, l foreignLaunch, cell string, tokens float64) {
	t.Helper()
	median := func(metric string) float64 {
		x, ok := l.Metrics[cell+"."+metric].Stats["median"]
		if !ok {
			t.Errorf("launch %s has no %s.%s", l.ID, cell, metric)
		}
		return x
	}
	if got := median("prompt_tokens"); got != tokens && !(f.roughly && got > tokens/2 && got < 2*tokens) {
		t.Errorf("launch %s: prompts of %s have %v tokens by the engine's count, want %v", l.ID, cell, got, tokens)
	}
	if got := median("output_tokens"); got != 96 {
		t.Errorf("launch %s: answers of %s have %v tokens by the engine's count, want 96", l.ID, cell, got)
	}
	if got := median("tg_total"); got <= 0 {
		t.Errorf("launch %s: %s.tg_total is %v", l.ID, cell, got)
	}
	if !f.drafts {
		return
	}
	length, rate := median("accept_length"), median("accept_rate")
	t.Logf("launch %s: %s: accept_length %.2f, accept_rate %.2f", l.ID, cell, length, rate)
	if length < 2 || !(rate > 0 && rate <= 1) {
		t.Errorf("launch %s: %s is of a text that repeats itself, so drafts are accepted", l.ID, cell)
	}
	if got := median("cached_tokens"); got != 0 {
		t.Errorf("launch %s: %v tokens of prompts of %s were cached", l.ID, got, cell)
	}
}

// foreignStack is a folder in which a plan is applied to a real engine.
type foreignStack struct {
	t   *testing.T
	dir string
	// vars are the plan's variables, in each command's environment.
	vars map[string]string
}

// mxflow runs a command on the plan and returns its standard output: warnings about the
// plan go elsewhere.
func (s foreignStack) mxflow(exit int, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(scenario.Program, append(args, "plan.hcl")...)
	cmd.Dir, cmd.Env, cmd.Stderr = s.dir, append(os.Environ(), "HOME="+s.dir), s.t.Output()
	for name, value := range s.vars {
		cmd.Env = append(cmd.Env, "MXFLOW_VAR_"+name+"="+value)
	}
	out, err := cmd.Output()
	s.t.Logf("mxflow %s\n%s", strings.Join(args, " "), out)
	if cmd.ProcessState.ExitCode() != exit {
		s.t.Fatalf("mxflow %s: %v, want exit status %d", strings.Join(args, " "), err, exit)
	}
	return string(out)
}

// stack asks that these are the accepted features, and the drafts what they come to.
func (s foreignStack) stack(want ...string) {
	s.t.Helper()
	var status struct {
		Stack struct {
			Features []struct{ Feature string }
			Knobs    map[string]string
		}
	}
	must.Do(s.t, json.Unmarshal([]byte(s.mxflow(0, "status", "--json")), &status))
	var got []string
	for _, f := range status.Stack.Features {
		got = append(got, f.Feature)
	}
	drafts := map[bool]string{true: "eight", false: "two"}[len(want) > 0]
	if fmt.Sprint(got) != fmt.Sprint(want) || status.Stack.Knobs["drafts"] != drafts {
		s.t.Errorf("the stack is %v with %v, want %v with drafts = %s", got, status.Stack.Knobs, want, drafts)
	}
}

// serves starts an engine by a script that has all of these, and asks it a question.
func (s foreignStack) serves(script string, has ...string) {
	s.t.Helper()
	for _, part := range has {
		if !strings.Contains(script, part) {
			s.t.Errorf("the script has no %q:\n%s", part, script)
		}
	}
	port, release, err := process.FreePort()
	must.Do(s.t, err)
	defer release()
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(os.Environ(), fmt.Sprintf("MXFLOW_PORT=%d", port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	must.Do(s.t, cmd.Start())
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() }()
	body := fmt.Sprintf(`{"prompt": %q, "max_tokens": 10, "temperature": 0}`, "The capital of France is")
	var said struct{ Choices []struct{ Text string } }
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/v1/completions", port), "application/json",
			strings.NewReader(body))
		if err != nil {
			continue // it does not listen yet
		}
		err = json.NewDecoder(resp.Body).Decode(&said)
		resp.Body.Close()
		if err == nil && len(said.Choices) > 0 {
			break
		}
	}
	if len(said.Choices) == 0 || strings.TrimSpace(said.Choices[0].Text) != tinymodel.Answer(10) {
		s.t.Errorf("it answered %+v", said)
	}
}

// TestForeignStack chooses, stacks and reproduces with a real engine.
func TestForeignStack(t *testing.T) {
	server := os.Getenv("MXFLOW_TEST_LLAMA_SERVER")
	missing := errors.New("nothing names it; scripts/foreign installs it and runs this test")
	if server != "" {
		_, missing = os.Stat(server)
	}
	enginetest.Require(t, "llama-server", missing)
	dir := t.TempDir()
	gguf := filepath.Join(dir, "tiny.gguf")
	must.Do(t, tinymodel.New(1).WriteGGUF(gguf))
	s := foreignStack{
		t: t, dir: dir,
		vars: map[string]string{"server": server, "model": gguf, "answer": tinymodel.Answer(10)},
	}
	must.Write(t, filepath.Join(s.dir, "plan.hcl"), must.Read(t, "testdata/plans/foreign_stack.hcl"))
	s.mxflow(0, "apply")
	s.stack("drafts", "flash")
	s.mxflow(0, "explain", "feature.drafts")
	script := s.mxflow(0, "env", "accepted")
	s.serves(script, "-fa on", "--spec-ngram-simple-size-m 8")

	s.mxflow(0, "apply", "--rerun", "drafts")
	s.stack("drafts", "flash")
	must.Equal(t, "accepted again, it is reproduced otherwise", s.mxflow(0, "env", "accepted"), script)
	s.mxflow(0, "audit", "verify")
	s.mxflow(0, "audit", "replay")
}

// TestForeignCorrectness holds a real engine's answers against its parent's: keys and
// values of 8 bits differ within limits, 4 bits and other weights beyond them.
func TestForeignCorrectness(t *testing.T) {
	server, models := os.Getenv("MXFLOW_TEST_LLAMA_SERVER"), os.Getenv("MXFLOW_TEST_MODELS")
	missing := errors.New("nothing names it; scripts/foreign installs it and runs this test")
	if server != "" && models != "" {
		_, missing = os.Stat(filepath.Join(models, "small.q5_k_m.gguf"))
	}
	enginetest.Require(t, "llama-server", missing)
	s := foreignStack{t: t, dir: t.TempDir(), vars: map[string]string{"server": server, "models": models}}
	must.Write(t, filepath.Join(s.dir, "plan.hcl"), must.Read(t, "testdata/plans/foreign_correct.hcl"))
	out := s.mxflow(2, "apply")
	for _, want := range []string{
		`baseline: correctness pass: \d+ answers from each of 2 launches of itself`,
		`eight: correctness pass: KL of \w+ 0\.00\d+ nats/token`,
		`four: correctness fail: KL of \w+ 0\.\d+ nats/token \(allowed ≤ 0\.02; baseline against itself \S+\)`,
		`others: correctness fail: KL of \w+ 0\.\d+ nats/token \(allowed ≤ 0\.02; baseline against itself \S+\)`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	s.mxflow(0, "audit", "replay")
}

// TestEmbeddedConforms runs the test that every engine passes against the
// embedded one, as a plan would start it.
func TestEmbeddedConforms(t *testing.T) {
	t.Parallel()
	embeddedConforms(t, process.Launcher{}, engine.Spec{
		Command: []string{scenario.Program, "engine", "serve", "--port", "{port}"},
	})
}

func embeddedConforms(t *testing.T, launcher engine.Launcher, s engine.Spec) {
	spec := func(fault string) enginetest.SpecFunc {
		return func(*testing.T) engine.Spec {
			s := s
			s.Kind, s.StopGrace, s.Env = "embedded", 10*time.Second, map[string]string{}
			if fault != "" {
				s.Env["MXFLOW_EMBEDDED_FAULT"] = fault
			}
			return s
		}
	}
	enginetest.Run(t, launcher, spec(""),
		enginetest.Fault{Is: enginetest.DiesEarly, Spec: spec("oom"), Status: 1, Says: "OutOfMemoryError"},
		enginetest.Fault{Is: enginetest.NeverReady, Spec: spec("never_ready")},
		enginetest.Fault{
			Is: enginetest.DiesLater, Spec: spec("crash_after:2"), Status: 1,
			Says: "fatal error", Trigger: ask,
		},
	)
}

// ask sends one request and reads what comes, which may end in the middle.
func ask(baseURL string) {
	body := strings.NewReader(`{"prompt":"The capital of France is","max_tokens":8,"temperature":0}`)
	resp, err := http.Post(baseURL+"/v1/completions", "application/json", body)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
}

// TestEmbeddedConformsInDocker is TestEmbeddedConforms with the engine in a
// container of an image that holds nothing but mxflow.
func TestEmbeddedConformsInDocker(t *testing.T) {
	dockertest.Need(t)
	image := dockertest.Image(t, scenario.Program)
	kind, _ := kinds.Lookup("embedded")
	var command []string
	for _, arg := range kind.ImageCommand {
		command = append(command, kinds.Fill(arg, "", engine.HowDocker.Host()))
	}
	embeddedConforms(t, docker.Launcher{}, engine.Spec{
		Command: command, Docker: &engine.Docker{Image: image, Pull: "never"},
	})
}
