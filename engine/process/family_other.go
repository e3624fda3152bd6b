//go:build !linux

package process

import (
	"syscall"

	"github.com/mxflow/mxflow/engine"
)

// family is the process group of a launch; without /proc what leaves the group
// cannot be found.
type family struct {
	pgid   int
	termed bool
}

func newFamily(pid int, _ engine.Launch) *family { return &family{pgid: pid} }

func (f *family) memory(bool) int64 { return 0 }

func (f *family) terminate() bool {
	if f.termed {
		return syscall.Kill(-f.pgid, 0) == nil
	}
	f.termed = true
	return syscall.Kill(-f.pgid, syscall.SIGTERM) == nil
}

func (f *family) kill() bool { return syscall.Kill(-f.pgid, syscall.SIGKILL) == nil }

func (f *family) describe() string { return describePIDs([]int{f.pgid}) }

// Descendants is not known here.
func Descendants(int) []int { return nil }
