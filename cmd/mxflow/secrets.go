package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// hide keeps a plan's secrets out of everything that is printed from now on.
func (a *app) hide(secrets []string) {
	if a.secrets = redact.New(secrets); !a.secrets.Active() {
		return
	}
	a.stdout, a.stderr = hiding{a.stdout, a.secrets}, hiding{a.stderr, a.secrets}
}

// hiding is a writer that takes secrets out of what is written at once. It is
// the last net: what is structured is cleaned before it becomes text.
type hiding struct {
	io.Writer
	secrets *redact.Redactor
}

func (h hiding) Write(p []byte) (int, error) {
	if _, err := h.Writer.Write(h.secrets.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// bare is what a writer writes to in the end.
func bare(w io.Writer) io.Writer {
	for {
		h, ok := w.(hiding)
		if !ok {
			return w
		}
		w = h.Writer
	}
}

// identities are the fields of records and events that name things. A secret
// never gets into them, since plans refuse it in names and rules; taking out a
// part that merely reads alike would break what refers to them.
var identities = []string{
	"Type", "Run", "Plan", "PlanDigest", "PlanSource", "PlanSources", "BootID", "ID", "Session", "Purpose", "Node", "Nodes",
	"Variant", "VariantKey", "Block", "Knobs", "Kind", "Phase", "Feature", "MeasureKey", "DecisionKey", "ClaimKey", "Launches", "LaunchID",
	"Because", "Samples", "Output", "Prompts", "Log", "Metrics", "Metric", "Name", "Role", "Expr", "Source", "Op", "Path", "Unit",
	"Level", "Verdict", "Tool", "Stream",
}

// keepSecrets keeps a plan's secrets out of a state directory: of its records,
// its logs, and the keys by which measurements are found again.
func (a *app) keepSecrets(lab *steps.Lab, p *plans.Plan, st *store.Store) error {
	lab.Redact = a.secrets
	if !a.secrets.Active() {
		return nil
	}
	dir := ""
	if st != nil {
		dir = st.Dir()
	}
	key, err := freshKey(dir)
	if err != nil {
		return err
	}
	if st != nil {
		st.CleanWith(func(r *ledger.Record) { a.secrets.Clean(r, identities...) })
	}
	// A secret is in measurement keys, since another one may be another
	// measurement; but whoever has the ledger must not be able to guess it.
	lab.Seal = redact.NewWith(p.Secrets(), func(secret string) string { return sealWith(key, secret) })
	return nil
}

// sealWith is the mark that stands for a secret.
func sealWith(key []byte, secret string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(secret))
	return "sensitive:" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// freshKey is the key of a state directory, or one for this process where there is
// no directory.
func freshKey(dir string) ([]byte, error) {
	key := make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil || dir == "" {
		return key, err
	}
	return secretKey(dir, key)
}

// secretKey is the key of a state directory, made where there is none. A reader
// that finds none goes on with the fresh one: nothing was measured yet.
func secretKey(dir string, fresh []byte) ([]byte, error) {
	path := filepath.Join(dir, "secret.key")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(path, []byte(hex.EncodeToString(fresh)+"\n"), 0o600)
		if errors.Is(err, fs.ErrPermission) {
			err = nil
		}
		return fresh, err
	}
	if err != nil {
		return nil, err
	}
	return keyIn(path, text)
}

// knownKey is the key of a state directory that has one; nothing is written.
func knownKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, "secret.key")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return keyIn(path, text)
}

// keyIn is the key that a file holds.
func keyIn(path string, text []byte) ([]byte, error) {
	var key [sha256.Size]byte
	if n, err := hex.Decode(key[:], text[:min(len(text), 2*len(key))]); err != nil || n != len(key) {
		return nil, fmt.Errorf("%s is damaged: remove it; what was measured with secrets in the plan is then measured again", path)
	}
	return key[:], nil
}

// cleanLogs takes secrets out of the logs of a run that was killed before it
// could do so itself.
func (a *app) cleanLogs(dir string) error {
	if !a.secrets.Active() {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		return redact.File(path, a.secrets)
	})
}
