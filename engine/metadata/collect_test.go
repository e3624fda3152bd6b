package metadata

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/plans"
)

// A Python with packages made here, PyTorch among them.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here")
	}
	site := t.TempDir()
	for name, version := range map[string]string{"torch": "2.9.0", "my_Engine": "0.3"} {
		write(t, filepath.Join(site, name+"-"+version+".dist-info", "METADATA"), "Metadata-Version: 2.1\nName: "+name+"\nVersion: "+version+"\n")
	}
	write(t, filepath.Join(site, "my_Engine-0.3.dist-info", "direct_url.json"),
		`{"url": "https://user:hunter22@example.org/e.git", "vcs_info": {"vcs": "git", "commit_id": "abcd"}}`)
	write(t, filepath.Join(site, "torch", "__init__.py"), `
import os, sys
print("a banner")
assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
__version__ = "2.9.0+cu130"
class version: cuda, hip = "13.0", None
class cudnn:
    version = staticmethod(lambda: 91300)
class backends: pass
backends.cudnn = cudnn
class nccl:
    version = staticmethod(lambda: (2, 27, 5))
class cuda: pass
cuda.nccl = nccl
`)
	t.Setenv("PYTHONPATH", site)
	t.Setenv("CUDA_VISIBLE_DEVICES", "0")
	asked := 0
	run := func(ctx context.Context, argv ...string) ([]byte, error) {
		if strings.Contains(argv[len(argv)-1], "import torch") {
			asked++
		}
		return Host(ctx, argv...)
	}
	var c Collector
	var d Document
	c.Collect(context.Background(), Request{Engine: run, SameFiles: true, Packages: true, Python: []string{python}}, &d)
	for _, want := range []string{"torch==2.9.0", "my-engine==0.3 @ https://example.org/e.git@abcd"} {
		if !slices.Contains(d.Packages, want) {
			t.Errorf("%s is not among %q", want, d.Packages)
		}
	}
	for name, want := range map[string]string{"torch": "2.9.0+cu130", "cuda": "13.0", "cudnn": "91300", "nccl": "2.27.5"} {
		if d.Software[name] != want || d.Fingerprint[name] != want {
			t.Errorf("%s is %q", name, d.Software[name])
		}
	}
	if d.Software["python"] == "" || d.Software["hip"] != "" || d.Fingerprint["packages"] == "" {
		t.Errorf("software %v, missing %v", d.Software, d.Missing)
	}
	// While the installed packages are unchanged, PyTorch is not imported again.
	var again Document
	c.Collect(context.Background(), Request{Engine: run, SameFiles: true, Packages: true, Python: []string{python}}, &again)
	if asked != 1 || again.Software["cudnn"] != "91300" || again.Fingerprint["packages"] != d.Fingerprint["packages"] {
		t.Errorf("PyTorch was asked %d times: %v", asked, again.Software)
	}
}

// An image is asked once; without Python, other programs may list packages, and in the
// end the reason is in the document.
func TestPackagesWithoutPython(t *testing.T) {
	calls := 0
	freeze := func(_ context.Context, argv ...string) ([]byte, error) {
		if calls++; argv[0] == "pip" {
			return []byte("# comment\nb==2\na==1\n"), nil
		}
		return nil, exec.ErrNotFound
	}
	var c Collector
	var d Document
	q := Request{Engine: freeze, Packages: true, Image: "sha256:1"}
	c.Collect(context.Background(), q, &d)
	if !slices.Equal(d.Packages, []string{"a==1", "b==2"}) || d.Missing["torch"] == "" {
		t.Fatalf("%q, %v", d.Packages, d.Missing)
	}
	before := calls
	c.Collect(context.Background(), q, &d)
	if calls != before {
		t.Errorf("asked %d times more about the same image", calls-before)
	}
	var none Document
	c.Collect(context.Background(), Request{Packages: true, Engine: func(context.Context, ...string) ([]byte, error) { return nil, exec.ErrNotFound }}, &none)
	if none.Packages != nil || !strings.Contains(none.Missing["packages"], "no Python") || none.Fingerprint["packages"] != "" {
		t.Errorf("%q, %v", none.Packages, none.Missing)
	}
}

func TestCommandsAndYAML(t *testing.T) {
	t.Setenv("PATH", os.Getenv("PATH"))
	d := Document{Host: map[string]string{"cpu": "c", "gpu": "not used", "driver": "1"}, Engine: Engine{Version: "0.21"}}
	new(Collector).Collect(context.Background(), Request{
		Engine: Host, SameFiles: true, Also: map[string]string{"image": "sha256:2"},
		Commands: map[string][]string{"ok": {"sh", "-c", "echo one; echo two"}, "bad": {"sh", "-c", "echo why >&2; exit 3"}, "none": {"no-such-program"}},
	}, &d)
	if d.Commands["ok"] != "one\ntwo" || len(d.Commands) != 1 {
		t.Errorf("got %q", d.Commands)
	}
	if !strings.Contains(d.Missing["commands.bad"], "why") || d.Missing["commands.none"] == "" {
		t.Errorf("missing %v", d.Missing)
	}
	for name, want := range map[string]string{"cpu": "c", "image": "sha256:2", "engine_version": "0.21", "gpu": "", "driver": ""} {
		if d.Fingerprint[name] != want {
			t.Errorf("%s is %q in the fingerprint", name, d.Fingerprint[name])
		}
	}
	text, err := d.YAML()
	if err != nil {
		t.Fatal(err)
	}
	var back Document
	if err := yaml.Unmarshal(text, &back); err != nil || back.Commands["ok"] != "one\ntwo" || back.Engine.Version != "0.21" {
		t.Errorf("%v from\n%s", err, text)
	}
}

// The momentary state of a GPU is not part of the fingerprint; its settings are, but only
// of GPUs in use.
func TestFingerprintOfGPUs(t *testing.T) {
	at := func(clock, temperature, limit string) map[string]string {
		d := Document{GPUs: []GPU{
			{UUID: "GPU-a", Name: "H200", Driver: "580", Used: true, Values: map[string]string{
				"clocks.current.sm": clock, "temperature.gpu": temperature, "power.limit": limit, "ecc.mode.current": "Enabled",
			}},
			{UUID: "GPU-b", Name: "T4", Driver: "580", Values: map[string]string{"power.limit": "70"}},
		}}
		return d.fingerprint(nil)
	}
	cool, hot, capped := at("345", "30", "700"), at("1980", "80", "700"), at("345", "30", "500")
	if cool["gpu"] != "H200 GPU-a" || cool["driver"] != "580" || cool["ecc"] != "Enabled" || cool["power_limit"] != "700" {
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
