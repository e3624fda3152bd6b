package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

func newExportCommand(h Host) *cobra.Command {
	var key, out string
	c := &cobra.Command{
		Use:   "export [PLAN]",
		Short: "Write the record as one file that anyone can verify and replay",
		Long: `Writes the ledger, its signed checkpoint, the public key and every artifact that a
record names (plans, samples, logs) as one tar file. What does not verify is not
written. Logs and plans are in it as they were kept: look before you publish.`,
		Example: `  mxflow audit export -o port.tar plan.hcl
  mxflow audit verify --key kim.pub port.tar
  mxflow audit replay port.tar`,
		Args: cobra.MaximumNArgs(1),
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
				fmt.Fprintf(h.Out(), "Wrote %s: %s, tree hash %s, %.1f MB, signed by %s.\n", out,
					verdict.Count(checked.Records, "record"), checked.Root, float64(size)/1e6, keyName(signer))
				return nil
			})
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "write to this `FILE` (default: beside the plan)")
	h.KeyFlag(c, &key)
	return c
}

// exportTo writes a new file; what could not be written as a whole is removed.
func exportTo(path string, st *store.Store, public string) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("--out: %s already exists: name another file, or remove it", path)
	}
	if err != nil {
		return 0, err
	}
	err = st.Export(f, public)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Sync(), f.Close()); err != nil {
		return 0, errors.Join(err, os.Remove(path))
	}
	return info.Size(), nil
}
