package plans

import (
	"os"
	"path/filepath"
	"strings"
)

// Path is a path of the plan: relative ones start at the plan's folder, ~ is the
// home folder.
func (p *Plan) Path(path string) string {
	if path = Home(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Dir, path)
}

// Abs is a path of the plan for programs that run in another folder.
func (p *Plan) Abs(path string) string {
	path = p.Path(path)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Home is a path with ~ for the home folder written out.
func Home(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && !strings.HasPrefix(rest, "/") {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
