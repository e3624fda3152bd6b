package apply

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/try"
)

// TestCleanEndsWithHard: who presses Ctrl-C a second time does not wait for daemons that
// do not answer, and what may run there is not forgotten.
func TestCleanEndsWithHard(t *testing.T) {
	list := &daemonList{path: filepath.Join(t.TempDir(), daemonsName)}
	try.Write(t, list.path, `[{"host":"tcp://192.0.2.1:1"},{"host":"tcp://192.0.2.2:1","container":"box"}]`)
	hard, stop := context.WithCancel(t.Context())
	stop()
	var notes []verdict.Reason
	if _, err := list.clean(hard, "owner", func(r verdict.Reason) { notes = append(notes, r) }); err != nil {
		t.Fatal(err)
	}
	if refs, err := list.read(); err != nil || len(refs) != 2 {
		t.Errorf("%d daemons are left on the list, %v", len(refs), err)
	}
	for _, n := range notes {
		if n.Kind != "apply.left_unknown" {
			t.Errorf("%+v", n)
		}
	}
	if len(notes) != 2 {
		t.Errorf("%d notes", len(notes))
	}
}
