package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/plans"
)

// DatasetRows reads a file of prompts as it will be sent.
func DatasetRows(name string, data []byte) (plans.DataRows, error) {
	d, err := prompt.ParseDataset(name, data)
	if err != nil {
		return plans.DataRows{}, err
	}
	rows := plans.DataRows{Count: len(d.Rows)}
	for _, r := range d.Rows {
		if rows.Unanswered == 0 && r.Output == 0 {
			rows.Unanswered = r.Line
		}
		if rows.Chat == 0 && (r.System != "" || len(r.Before) > 0 || len(r.Extra) > 0) {
			rows.Chat = r.Line
		}
	}
	return rows, nil
}

// datasets caches files of prompts, each read once for all cells and launches: a
// prompt.Dataset is never modified. The zero value is ready to use. It is safe for
// concurrent use.
type datasets struct {
	mu    sync.Mutex
	known map[string]*prompt.Dataset // by digest and file
}

// read reads a data set that the plan was loaded with; nil for none. Prompts are the same
// for all arms, so a file changed since is an error.
func (s *datasets) read(d *plans.Dataset) (*prompt.Dataset, error) {
	if d == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock() // of two that want one file, the second waits
	key := d.Digest + " " + d.File
	if known := s.known[key]; known != nil {
		return known, nil
	}
	data, err := os.ReadFile(d.File)
	if err != nil {
		return nil, fmt.Errorf("cannot read the dataset again: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != d.Digest {
		return nil, fmt.Errorf("the dataset %s changed after the plan was read: apply again", d.File)
	}
	parsed, err := prompt.ParseDataset(filepath.Base(d.File), data)
	if err != nil {
		return nil, err
	}
	if s.known == nil {
		s.known = map[string]*prompt.Dataset{}
	}
	s.known[key] = parsed
	return parsed, nil
}
