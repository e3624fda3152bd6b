package record

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans"
)

func TestDatasetRows(t *testing.T) {
	for text, want := range map[string]plans.DataRows{
		`{"prompt": "a", "output_tokens": 4}`:                                                           {Count: 1},
		"{\"prompt\": \"a\", \"output_tokens\": 4}\n\n{\"prompt\": \"b\"}":                              {Count: 2, Unanswered: 3},
		`{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "a"}]}`:          {Count: 1, Unanswered: 1, Chat: 1},
		`{"conversations": [{"from": "human", "value": "a"}], "max_tokens": 9}`:                         {Count: 1},
		`{"prompt": "a", "tools": [{"type": "function", "function": {"name": "f"}}], "max_tokens": 12}`: {Count: 1, Chat: 1},
	} {
		got, err := DatasetRows("x.jsonl", []byte(text))
		if err != nil || got != want {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", text, got, err, want)
		}
	}
}

// TestDatasetIsReadOnce: a file is read for the first cell that sends it, and the
// next ones take what was read.
func TestDatasetIsReadOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	text := []byte("{\"prompt\": \"a\", \"output_tokens\": 4}\n")
	try.OK(t, os.WriteFile(file, text, 0o600))
	sum := sha256.Sum256(text)
	d := &plans.Dataset{File: file, Digest: hex.EncodeToString(sum[:])}
	var l Sender
	w := &plans.Workload{Data: d}
	first, err := promptSpec(w, plans.Cell{}, "", "", &l.datasets)
	if err != nil || len(first.Data.Rows) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	try.OK(t, os.Remove(file))
	second, err := promptSpec(w, plans.Cell{}, "", "", &l.datasets)
	if err != nil || second.Data != first.Data {
		t.Errorf("read again: %v", err)
	}
	if _, err := promptSpec(w, plans.Cell{}, "", "", new(datasets)); err == nil || !strings.Contains(err.Error(), "cannot read the dataset again") {
		t.Errorf("a file that is gone: %v", err)
	}
	other := *d
	other.Digest = strings.Repeat("0", 64)
	if _, err := l.datasets.read(&other); err == nil {
		t.Error("a file of another digest was taken from what was read before")
	}
}
