package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Open lists the programs, libraries, models and code that processes have mapped, or open
// for reading, by what /proc shows of them (proc_pid_maps(5)); none where there is no /proc.
// host is the path on this machine of a file that the processes see, empty for one that does
// not count. A file that was written since the processes began is what they made, and left
// out; one that is no longer on disk has the digest Replaced. The others have none yet.
func Open(pids []int, since time.Time, host func(path string) string) (files []File) {
	seen := map[string]bool{}
	add := func(path string) {
		gone := strings.HasSuffix(path, " (deleted)")
		path = host(strings.TrimSuffix(path, " (deleted)"))
		if path == "" || path == ownPath() || seen[path] || isDerived(path) {
			return
		}
		seen[path] = true
		file, err := look(path)
		switch {
		case gone && (err != nil || file.Changed > since.UnixNano()):
			files = append(files, File{Path: path, Digest: Replaced})
		case err == nil && file.Modified < since.UnixNano():
			files = append(files, file)
		}
	}
	for _, pid := range pids {
		held, _ := OpenFiles(pid)
		for _, h := range held {
			if strings.Contains(h.Mapped, "x") || isLoaded(h.Path) && (h.FD == "" || isRead(pid, h.FD)) {
				add(h.Path)
			}
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// OpenFile is a file that a process has mapped or open.
type OpenFile struct {
	File FileID
	// Path is where the process sees it; " (deleted)" follows if it is not there any more. Entry
	// is its link below /proc.
	Path, Entry string
	// Mapped is how a part of it is mapped, such as "r-xp", and Length how many bytes. FD is its
	// descriptor if it is open, and Kept how many bytes are kept for it.
	Mapped string
	Length int64
	FD     string
	Kept   int64
}

// FileID identifies a file, whatever it is called.
type FileID struct{ Dev, Inode uint64 }

// OpenFiles are the regular files that a process has mapped or open, see proc_pid_maps(5); false
// if that is not shown to this user.
func OpenFiles(pid int) (held []OpenFile, shown bool) {
	proc := "/proc/" + strconv.Itoa(pid) + "/"
	hexadecimal := func(text string) uint64 {
		n, _ := strconv.ParseUint(text, 16, 64)
		return n
	}
	maps, mapsErr := os.ReadFile(proc + "maps")
	for line := range strings.Lines(string(maps)) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6) // addresses, how, offset, device, inode, path
		if len(cells) < 6 || cells[4] == "0" {
			continue
		}
		low, high, _ := strings.Cut(cells[0], "-")
		major, minor, _ := strings.Cut(cells[3], ":")
		inode, _ := strconv.ParseUint(cells[4], 10, 64)
		held = append(held, OpenFile{
			File: FileID{unix.Mkdev(uint32(hexadecimal(major)), uint32(hexadecimal(minor))), inode},
			Path: strings.TrimLeft(cells[5], " "), Entry: proc + "map_files/" + cells[0],
			Mapped: cells[1], Length: int64(hexadecimal(high) - hexadecimal(low)),
		})
	}
	open, openErr := os.ReadDir(proc + "fd")
	for _, fd := range open {
		entry := proc + "fd/" + fd.Name()
		path, _ := os.Readlink(entry)
		if !filepath.IsAbs(path) {
			continue // a socket, or a pipe
		}
		if file, kept, ok := Stat(entry); ok {
			held = append(held, OpenFile{File: file, Path: path, Entry: entry, FD: fd.Name(), Kept: kept})
		}
	}
	return held, mapsErr == nil && openErr == nil
}

// Stat is which regular file is at a path, and how many bytes are kept for it.
func Stat(path string) (file FileID, kept int64, ok bool) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return file, 0, false
	}
	return FileID{uint64(st.Dev), st.Ino}, st.Blocks * 512, true
}

// Running are the commands of processes, as /proc shows them.
func Running(pids []int) (commands []Command) {
	for _, pid := range pids {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		words, err := os.ReadFile(filepath.Join(proc, "cmdline"))
		dir, dirErr := os.Readlink(filepath.Join(proc, "cwd"))
		environ, envErr := os.ReadFile(filepath.Join(proc, "environ"))
		if errors.Join(err, dirErr, envErr) != nil || len(words) == 0 {
			continue
		}
		env := strings.Split(string(environ), "\x00")
		var values []string
		for _, pair := range env {
			_, value, _ := strings.Cut(pair, "=")
			values = append(values, value)
		}
		commands = append(commands, Command{
			Values: values,
			Words:  strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"), Dir: dir,
			Env: func(name string) string {
				for _, pair := range env {
					if value, ok := strings.CutPrefix(pair, name+"="); ok {
						return value
					}
				}
				return ""
			},
		})
	}
	return commands
}

// isLoaded reports whether a file is code or a model by its name.
func isLoaded(path string) bool {
	path = strings.TrimSuffix(path, " (deleted)")
	return IsCode(path) || slices.Contains(models, filepath.Ext(path)) || filepath.Base(filepath.Dir(path)) == "blobs"
}

// models are the endings of files with weights; those in a hub's cache have none.
var models = []string{".gguf", ".safetensors", ".bin", ".pt", ".pth", ".onnx", ".engine"}

// isRead reports whether a descriptor is open for reading alone.
func isRead(pid int, fd string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "fdinfo", fd))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var flags int
		if n, _ := fmt.Sscanf(line, "flags: %o", &flags); n == 1 {
			return flags&(os.O_WRONLY|os.O_RDWR) == 0
		}
	}
	return false
}

// isDerived reports whether a file is the kernel's, or one that engines and compilers keep
// in a cache and make again when it is missing. Models in a cache count.
func isDerived(path string) bool {
	for _, root := range []string{"/proc/", "/sys/", "/dev/", "/run/", "/memfd:", "/SYSV"} {
		if strings.HasPrefix(path, root) {
			return true
		}
	}
	if isLoaded(path) && !IsCode(path) {
		return false
	}
	return slices.ContainsFunc(strings.Split(path, "/"), func(dir string) bool {
		return slices.Contains([]string{".cache", ".triton", ".nv"}, dir)
	})
}
