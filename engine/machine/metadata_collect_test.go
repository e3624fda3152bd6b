package machine

import (
	"context"
	"encoding/binary"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
)

// onHost runs commands on this machine.
func onHost(ctx context.Context, argv ...string) ([]byte, error) {
	return exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
}

// A Python with packages made here, PyTorch among them.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here")
	}
	site := t.TempDir()
	for name, version := range map[string]string{
		"torch": "2.9.0", "my_Engine": "0.3", "nvidia_cudnn_cu13": "9.13.0.50", "nvidia-nccl-cu13": "2.27.7",
	} {
		write(t, filepath.Join(site, name+"-"+version+".dist-info", "METADATA"),
			"Metadata-Version: 2.1\nName: "+name+"\nVersion: "+version+"\n")
	}
	write(t, filepath.Join(site, "my_Engine-0.3.dist-info", "direct_url.json"),
		`{"url": "https://user:hunter22@example.org/e.git", "vcs_info": {"vcs": "git", "commit_id": "abcd"}}`)
	write(t, filepath.Join(site, "torch", "__init__.py"), "raise SystemExit('it is imported')\n")
	write(t, filepath.Join(site, "torch", "version.py"), "__version__ = '2.9.0+cu130'\ncuda = '13.0'\nhip = None\n")
	t.Setenv("PYTHONPATH", site)
	asked := 0
	var d Document
	Collect(context.Background(), MetadataRequest{
		Packages: true, Python: []string{python},
		Engine: func(ctx context.Context, argv ...string) ([]byte, error) {
			asked++
			return onHost(ctx, argv...)
		},
	}, &d)
	for _, want := range []string{"torch==2.9.0", "my-engine==0.3 @ https://example.org/e.git@abcd"} {
		if !slices.Contains(d.Packages, want) {
			t.Errorf("%s is not among %q", want, d.Packages)
		}
	}
	for name, want := range map[string]string{
		"torch": "2.9.0+cu130", "cuda": "13.0", "cudnn": "9.13.0.50", "nccl": "2.27.7",
	} {
		if d.Software[name] != want || d.Fingerprint[name] != want {
			t.Errorf("%s is %q", name, d.Software[name])
		}
	}
	if d.Software["python"] == "" || d.Software["hip"] != "" || d.Fingerprint["packages"] == "" {
		t.Errorf("software %v, missing %v", d.Software, d.Missing)
	}
	if asked != 1 {
		t.Errorf("%d commands", asked)
	}
}

// What cannot be found out is in the document, with the reason.
func TestPackagesWithoutPython(t *testing.T) {
	for name, run := range map[string]Run{
		"no shell": func(context.Context, ...string) ([]byte, error) { return nil, exec.ErrNotFound },
		"breaks off": func(_ context.Context, argv ...string) ([]byte, error) {
			return []byte("\n" + argv[4] + " begin packages\n{"), nil
		},
		"nowhere": nil,
	} {
		var d Document
		Collect(context.Background(),
			MetadataRequest{Engine: run, Packages: true, Commands: map[string]string{"a": "echo"}}, &d)
		if d.Packages != nil || d.Missing["packages"] == "" || d.Missing["commands.a"] == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestCommandsAndYAML(t *testing.T) {
	t.Setenv("PATH", os.Getenv("PATH"))
	d := Document{
		Host:   map[string]string{"cpu": "c", "gpu": "not used", "driver": "1"},
		Engine: EngineData{Version: "0.21"},
	}
	Collect(context.Background(), MetadataRequest{
		Engine: onHost, Also: map[string]string{"image": "sha256:2"},
		Commands: map[string]string{
			"ok": "echo one; echo two", "bad": "echo why >&2; exit 3",
			"none": "no-such-program",
		},
	}, &d)
	if d.Commands["ok"] != "one\ntwo" || len(d.Commands) != 1 {
		t.Errorf("got %q", d.Commands)
	}
	if d.Missing["commands.bad"] != "exit status 3: why" || d.Missing["commands.none"] == "" {
		t.Errorf("missing %v", d.Missing)
	}
	for name, want := range map[string]string{
		"cpu": "c", "image": "sha256:2", "engine_version": "0.21",
		"gpu": "", "driver": "",
	} {
		if d.Fingerprint[name] != want {
			t.Errorf("%s is %q in the fingerprint", name, d.Fingerprint[name])
		}
	}
	text, err := d.YAML()
	must.Do(t, err)
	var back Document
	if err := yaml.Unmarshal(text, &back); err != nil || back.Commands["ok"] != "one\ntwo" ||
		back.Engine.Version != "0.21" {
		t.Errorf("%v from\n%s", err, text)
	}
}

// The momentary state of a GPU is not part of the fingerprint; its settings are, but only of GPUs in use.
func TestFingerprintOfGPUs(t *testing.T) {
	at := func(clock, temperature, limit string) map[string]string {
		d := Document{GPUs: []GPUState{
			{Used: true, GPU: GPU{UUID: "GPU-a", Name: "H200", Driver: "580", Values: map[string]string{
				"clocks.current.sm": clock, "temperature.gpu": temperature, "power.limit": limit,
				"ecc.mode.current": "Enabled",
			}}},
			{GPU: GPU{UUID: "GPU-b", Name: "T4", Driver: "580", Values: map[string]string{"power.limit": "70"}}},
		}}
		return d.fingerprint(nil)
	}
	cool, hot, capped := at("345", "30", "700"), at("1980", "80", "700"), at("345", "30", "500")
	if cool["gpu"] != "H200 GPU-a" || cool["driver"] != "580" || cool["ecc"] != "Enabled" ||
		cool["power_limit"] != "700" {
		t.Errorf("got %v", cool)
	}
	for name := range cool {
		if cool[name] != hot[name] {
			t.Errorf("%s is of the moment", name)
		}
	}
	for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(cool)), maps.Values(settings)) {
		if !slices.Contains(plans.FingerprintEntries, name) {
			t.Errorf("the plan language has no %q", name)
		}
	}
	if capped["power_limit"] == cool["power_limit"] {
		t.Error("another power limit is the same")
	}
}

// checkout makes a git tree with one commit.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "mxfp4_v4"},
		{"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func TestRepos(t *testing.T) {
	dir := checkout(t)
	state := func() (Repo, string) {
		var d Document
		q := MetadataRequest{Engine: onHost, Repos: map[string]string{"vllm": dir}}
		Collect(context.Background(), q, &d)
		return d.Repos["vllm"], d.Missing["repos.vllm"]
	}
	clean, why := state()
	if why != "" || !sha.MatchString(clean.Commit) || clean.Branch != "mxfp4_v4" || clean.Dirty || clean.Diff != "" {
		t.Fatalf("%+v, %s", clean, why)
	}
	write(t, filepath.Join(dir, "new.py"), "1")
	untracked, _ := state()
	if !untracked.Dirty || untracked.Changes != 1 || untracked.Diff == "" {
		t.Errorf("untracked: %+v", untracked)
	}
	exec.Command("git", "-C", dir, "add", "new.py").Run()
	added, _ := state()
	write(t, filepath.Join(dir, "new.py"), "2")
	changed, _ := state()
	if added.Diff == changed.Diff || changed.Diff == untracked.Diff || changed.Commit != clean.Commit {
		t.Errorf("%+v\n%+v", added, changed)
	}
}

func modelAt(t *testing.T, model, revision string) (*Model, map[string]string) {
	t.Helper()
	var d Document
	Collect(context.Background(), MetadataRequest{Engine: onHost, Model: model, Revision: revision}, &d)
	delete(d.Missing, "gpus")
	return d.Model, d.Missing
}

func TestModelFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "model.safetensors"), "weights")
	write(t, filepath.Join(dir, "tokenizer.json"), "{}")
	write(t, filepath.Join(dir, ".cache", "lock"), "ignored")
	first, missing := modelAt(t, dir, "")
	if first.Files != 2 || first.Bytes != 9 || first.Covers != "names and contents" || first.Tokenizer == "" ||
		first.Digest == first.Tokenizer || len(missing) > 0 {
		t.Fatalf("%+v, %v", first, missing)
	}
	os.Chtimes(filepath.Join(dir, "model.safetensors"), time.Now(), time.Now().Add(-time.Hour))
	if again, _ := modelAt(t, dir, ""); again.Digest != first.Digest || again.Path != dir {
		t.Error("the time of a file that was read to its end counts")
	}
	t.Chdir(filepath.Dir(dir))
	if again, _ := modelAt(t, filepath.Base(dir), ""); again.Digest != first.Digest || again.Path != dir {
		t.Errorf("by a relative path: %+v", again)
	}
	if one, _ := modelAt(t, filepath.Join(dir, "model.safetensors"), ""); one.Files != 1 || one.Bytes != 7 {
		t.Errorf("a file: %+v", one)
	}
	write(t, filepath.Join(dir, "model.safetensors"), "Weights")
	if changed, _ := modelAt(t, dir, ""); changed.Digest == first.Digest || changed.Tokenizer != first.Tokenizer {
		t.Errorf("%+v after other weights", changed)
	}
}

// Of a large file the header, the size and the time count; it is not read in full.
func TestModelConfig(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), `{"model_type": "llama"}`)
	write(t, filepath.Join(dir, "sub", "config.json"), `{"model_type": "vision"}`)
	if m, _ := modelAt(t, dir, ""); string(m.Config) != `{"model_type": "llama"}` {
		t.Errorf("%s", m.Config)
	}
	// A config beside weights in another format does not describe them.
	write(t, filepath.Join(dir, "llama-Q4_K_M.gguf"), "weights")
	if m, _ := modelAt(t, dir, ""); m.Config != nil {
		t.Errorf("of a GGUF file: %s", m.Config)
	}
}

func TestLargeModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	header := `{"a":{"dtype":"F8_E4M3"}}`
	text := string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header
	write(t, path, text)
	when := time.Unix(1e9, 0)
	sparse := func() {
		if err := os.Truncate(path, 17<<20); err != nil {
			t.Skipf("no room for a sparse file: %v", err)
		}
		os.Chtimes(path, when, when)
	}
	sparse()
	first, missing := modelAt(t, path, "")
	if first.Digest == "" || !strings.Contains(first.Covers, "heads of large ones") || len(missing) > 0 {
		t.Fatalf("%+v, %v", first, missing)
	}
	write(t, path, strings.Replace(text, "F8_E4M3", "F8_E5M2", 1))
	sparse()
	if other, _ := modelAt(t, path, ""); other.Digest == first.Digest {
		t.Error("another header is the same model")
	}
	when = when.Add(time.Second)
	write(t, path, text)
	sparse()
	if other, _ := modelAt(t, path, ""); other.Digest == first.Digest {
		t.Error("a file that was written again is the same model")
	}
}

// A Hugging Face cache: snapshots are links to blobs, which are named by their digest if they are large.
func TestHuggingFaceCache(t *testing.T) {
	cache := t.TempDir()
	commit := strings.Repeat("ab", 20)
	model := filepath.Join(cache, "models--org--tiny")
	write(t, filepath.Join(model, "refs", "main"), commit)
	blob := strings.Repeat("0f", 32)
	write(t, filepath.Join(model, "blobs", blob), "large")
	write(t, filepath.Join(model, "snapshots", commit, "config.json"), "{}")
	if err := os.Symlink(filepath.Join("..", "..", "blobs", blob),
		filepath.Join(model, "snapshots", commit, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HF_HUB_CACHE", cache)
	here, missing := modelAt(t, "org/tiny", "")
	if here.Revision != commit || here.Files != 2 || here.Bytes != 7 || here.Digest == "" || len(missing) > 0 {
		t.Fatalf("%+v, %v", here, missing)
	}
	// The blob's name stands for its content.
	write(t, filepath.Join(model, "blobs", blob), "Large")
	if again, _ := modelAt(t, "org/tiny", commit); again.Digest != here.Digest {
		t.Errorf("by its commit: %+v", again)
	}
	for _, q := range [][2]string{{"org/tiny", "v2"}, {"org/tiny", "../../.."}, {"org/none"}, {"just a name"}, {}} {
		if m, missing := modelAt(t, q[0], q[1]); m != nil && m.Digest != "" || len(missing) != 1 {
			t.Errorf("%q: %+v, %v", q, m, missing)
		}
	}
}
