package metadata

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func modelAt(t *testing.T, q Request) (*Model, map[string]string) {
	t.Helper()
	if q.Env == nil {
		q.Env = func(string) string { return "" }
	}
	var d Document
	new(Collector).model(context.Background(), &q, &d)
	return d.Model, d.Missing
}

func TestModelFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "model.safetensors"), "weights")
	write(t, filepath.Join(dir, "tokenizer.json"), "{}")
	write(t, filepath.Join(dir, ".cache", "lock"), "ignored")
	q := Request{SameFiles: true, Dir: filepath.Dir(dir), Model: filepath.Base(dir)}
	first, missing := modelAt(t, q)
	if first.Files != 2 || first.Bytes != 9 || first.Covers != "names and contents" || first.Tokenizer == "" || first.Digest == first.Tokenizer || len(missing) > 0 {
		t.Fatalf("%+v, %v", first, missing)
	}
	// A copy is the same model, also where the engine lives.
	os.Chtimes(filepath.Join(dir, "model.safetensors"), time.Now(), time.Now().Add(-time.Hour))
	if again, _ := modelAt(t, q); again.Digest != first.Digest {
		t.Error("the time of a file that was read to its end counts")
	}
	inside, missing := modelAt(t, Request{Engine: Host, Model: dir})
	if inside.Files != 3 || len(missing) > 0 {
		t.Errorf("read with the engine's commands: %+v, %v", inside, missing)
	}
	volume, _ := modelAt(t, Request{Model: "/models/m", Volumes: map[string]string{dir: "/models/m"}})
	if volume.Digest != first.Digest {
		t.Errorf("from a volume: %+v", volume)
	}
	write(t, filepath.Join(dir, "model.safetensors"), "Weights")
	if changed, _ := modelAt(t, q); changed.Digest == first.Digest || changed.Tokenizer != first.Tokenizer {
		t.Errorf("%+v after other weights", changed)
	}
}

// Of a large file the header, the size and the time count; it is not read in full.
func TestModelConfig(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), `{"model_type": "llama"}`)
	write(t, filepath.Join(dir, "sub", "config.json"), `{"model_type": "vision"}`)
	q := Request{SameFiles: true, Model: dir}
	if m, _ := modelAt(t, q); string(m.Config) != `{"model_type": "llama"}` {
		t.Errorf("%s", m.Config)
	}
	if m, _ := modelAt(t, Request{Engine: Host, Model: dir}); string(m.Config) != `{"model_type": "llama"}` {
		t.Errorf("where the engine lives: %s", m.Config)
	}
	// A config beside weights in another format does not describe them.
	write(t, filepath.Join(dir, "llama-Q4_K_M.gguf"), "weights")
	if m, _ := modelAt(t, q); m.Config != nil {
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
		if err := os.Truncate(path, hostTree{}.whole()+1); err != nil {
			t.Skipf("no room for a sparse file: %v", err)
		}
		os.Chtimes(path, when, when)
	}
	sparse()
	q := Request{SameFiles: true, Model: path}
	first, missing := modelAt(t, q)
	if first.Digest == "" || !strings.Contains(first.Covers, "heads of large ones") || len(missing) > 0 {
		t.Fatalf("%+v, %v", first, missing)
	}
	write(t, path, strings.Replace(text, "F8_E4M3", "F8_E5M2", 1))
	sparse()
	if other, _ := modelAt(t, q); other.Digest == first.Digest {
		t.Error("another header is the same model")
	}
	when = when.Add(time.Second)
	write(t, path, text)
	sparse()
	if other, _ := modelAt(t, q); other.Digest == first.Digest {
		t.Error("a file that was written again is the same model")
	}
}

// A Hugging Face cache: snapshots are links to blobs, which are named by their digest if
// they are large.
func TestHuggingFaceCache(t *testing.T) {
	cache := t.TempDir()
	commit := strings.Repeat("ab", 20)
	model := filepath.Join(cache, "models--org--tiny")
	write(t, filepath.Join(model, "refs", "main"), commit)
	blob := strings.Repeat("0f", 32)
	write(t, filepath.Join(model, "blobs", blob), "large")
	write(t, filepath.Join(model, "snapshots", commit, "config.json"), "{}")
	if err := os.Symlink(filepath.Join("..", "..", "blobs", blob), filepath.Join(model, "snapshots", commit, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"HF_HUB_CACHE": cache}[name] }
	here, missing := modelAt(t, Request{SameFiles: true, Model: "org/tiny", Env: env})
	if here.Revision != commit || here.Files != 2 || here.Bytes != 7 || here.Digest == "" || len(missing) > 0 {
		t.Fatalf("%+v, %v", here, missing)
	}
	// The blob's name stands for its content, so a link to another one is another
	// model.
	volume, _ := modelAt(t, Request{Model: "org/tiny", Volumes: map[string]string{cache: "/root/.cache/huggingface/hub"}})
	if volume.Digest != here.Digest || volume.Revision != commit {
		t.Errorf("from a volume: %+v", volume)
	}
	t.Setenv("HF_HUB_CACHE", cache)
	inside, missing := modelAt(t, Request{Engine: Host, Model: "org/tiny"})
	if inside.Revision != commit || inside.Files != 2 {
		t.Errorf("with the engine's shell: %+v, %v", inside, missing)
	}
	for _, q := range []Request{
		{SameFiles: true, Model: "org/tiny", Revision: "v2", Env: env},
		{SameFiles: true, Model: "org/tiny", Revision: "../../..", Env: env},
		{SameFiles: true, Model: "org/none", Env: env},
		{SameFiles: true, Model: "just a name", Env: env},
		{Model: "org/tiny"},
		{},
	} {
		if m, missing := modelAt(t, q); m != nil && m.Digest != "" || len(missing) != 1 {
			t.Errorf("%s at %q: %+v, %v", q.Model, q.Revision, m, missing)
		}
	}
}
