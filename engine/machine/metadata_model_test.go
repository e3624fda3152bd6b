package machine

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
	if first.Files != 2 || first.Bytes != 9 || first.Covers != "names and contents" || first.Tokenizer == "" || first.Digest == first.Tokenizer || len(missing) > 0 {
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
