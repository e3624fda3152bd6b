package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

func newExportCommand(h Host) *cobra.Command {
	var key, out string
	c := &cobra.Command{
		Use:   "export [PLAN]",
		Short: "Write the whole record as one file that anyone can verify and replay",
		Long: `Writes the ledger, its signed checkpoint, the public key and every artifact that a
record names (plans, samples, logs) as one tar file. Elsewhere, audit verify FILE --key
checks it and audit replay FILE decides everything in it again. What does not verify is
not written. Logs and plans are in it as they were kept: look before you publish.`,
		Example: "  mxflow audit export -o port.tar plan.hcl\n  mxflow audit verify --key kim.pub port.tar\n  mxflow audit replay port.tar",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return h.whole(h.Reader, args, key, func(st *store.Store, checked ledger.Report, signer string) error {
				if out == "" {
					runs := st.Runs()
					out = runs[len(runs)-1].Plan + ".tar"
				}
				size, err := exportTo(out, st, signer)
				if err != nil {
					return err
				}
				fmt.Fprintf(h.Stdout, "Wrote %s: %s, tree hash %s, %.1f MB, signed by %s.\n", out, verdict.Count(checked.Records, "record"), checked.Root, float64(size)/1e6, keyName(signer))
				return nil
			})
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "new `file` (default: the plan's name with .tar)")
	c.Flags().StringVar(&key, "key", "", "public key of the signer, or its `file` (default: your own)")
	return c
}

// exportTo writes a new file completely or not at all.
func exportTo(path string, st *store.Store, public string) (size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".mxflow-writing-*")
	if err != nil {
		return 0, files.Asked(path, err)
	}
	defer os.Remove(f.Name())
	err = st.Export(f, public)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("--out: %s already exists: name another file, or remove it", path)
	} else if err != nil {
		return 0, files.Asked(path, err)
	}
	return info.Size(), nil
}
