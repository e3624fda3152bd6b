package sealing

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// helpers are the programs that mxflow asks about machine and source trees.
var helpers = []string{"git", "nvidia-smi"}

// systemFolders are a system's program folders: an account that may write there is
// trusted anyway.
var systemFolders = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// Shadowed are those helpers that PATH finds where this account could have put them: they
// may report what a proposer likes. A missing helper is not used.
func Shadowed() (why []verdict.Reason) {
	for _, name := range helpers {
		path, err := exec.LookPath(name)
		if path == "" && err != nil {
			continue
		}
		if path, err = filepath.Abs(path); err != nil || slices.Contains(systemFolders, filepath.Dir(path)) {
			continue
		}
		if writable(path) || writable(filepath.Dir(path)) {
			why = append(why, verdict.New(code.HelperShadowed, verdict.Text("path", path), verdict.Text("system", strings.Join(systemFolders[2:4], ":"))).On(name))
		}
	}
	return why
}

func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }
