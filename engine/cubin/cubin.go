// Package cubin knows which GPU code a shared library contains: for which SM versions
// there is machine code, and for which there is PTX, which a driver compiles on first
// use. It reads the headers of the fat binaries that nvcc puts into an ELF file and needs
// no CUDA. It does not know which of that code an engine runs, nor what a GPU accepts.
package cubin

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The layout of a fat binary in libraries of CUDA 12 and 13: a header, and for each piece
// of code a header and its data. Sizes and offsets are in bytes. There is no published
// description; the field's notes (RWTH-ACS/cricket, cpu/cpu-elf2.c) and libraries whose
// code names itself agree in what is read here.
const (
	magic      = 0xBA55ED50
	leastFat   = 16 // magic, version, size of this header, size of what follows
	leastImage = 64
	// isPTX and isELF are kinds of images; others contain no code.
	isPTX, isELF = 1, 2
	// Flags of an image: for this SM version alone (sm_90a), for its family (sm_103f).
	specific, family = 1 << 20, 1 << 21
)

// sections may contain fat binaries, the second those from a device linker.
var sections = []string{".nv_fatbin", "__nv_relfatbin"}

// Read lists the targets of the code in an ELF file, as nvcc writes them (sm_90a for
// machine code, compute_90a for PTX) and sorted; nothing if there is none. An error means
// that it is not an ELF file, or that its fat binaries have an unknown form: then nothing
// is known of it.
func Read(r io.ReaderAt) ([]string, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	targets := map[string]bool{}
	for _, name := range sections {
		s := f.Section(name)
		if s == nil || s.Type == elf.SHT_NOBITS {
			continue
		}
		if err := scan(io.NewSectionReader(r, int64(s.Offset), int64(s.FileSize)), targets); err != nil {
			return nil, fmt.Errorf("section %s: %w", name, err)
		}
	}
	return slices.SortedFunc(maps.Keys(targets), func(a, b string) int { return strings.Compare(padded(a), padded(b)) }), nil
}

// padded sorts compute_90 before compute_100, and both before sm_75.
func padded(name string) string {
	kind, version, _ := strings.Cut(name, "_")
	return fmt.Sprintf("%s_%8s", kind, strings.TrimRight(version, "af")) + strings.TrimLeft(version, "0123456789")
}

var errForm = errors.New("unknown fat binary format")

// scan counts the images of the fat binaries in a section, between which there may be
// padding.
func scan(r *io.SectionReader, targets map[string]bool) error {
	var head [leastImage]byte
	for at := int64(0); at+leastFat <= r.Size(); {
		if _, err := r.ReadAt(head[:leastFat], at); err != nil {
			return err
		}
		if word := binary.LittleEndian.Uint32(head[:]); word != magic {
			if word != 0 {
				return fmt.Errorf("%w: no fat binary starts at byte %d", errForm, at)
			}
			at += 4
			continue
		}
		size, long := int64(binary.LittleEndian.Uint16(head[6:])), binary.LittleEndian.Uint64(head[8:])
		if size < leastFat || long > uint64(r.Size()-at-size) || at+size > r.Size() {
			return fmt.Errorf("%w: the one at byte %d exceeds its section", errForm, at)
		}
		end := at + size + int64(long)
		for at += size; at < end; {
			if end-at < leastImage {
				return fmt.Errorf("%w: image truncated at byte %d", errForm, at)
			}
			if _, err := r.ReadAt(head[:], at); err != nil {
				return err
			}
			kind, size, long := binary.LittleEndian.Uint16(head[:]), int64(binary.LittleEndian.Uint32(head[4:])), binary.LittleEndian.Uint64(head[8:])
			if size < leastImage || size > end-at || long > uint64(end-at-size) {
				return fmt.Errorf("%w: the image at byte %d exceeds its binary", errForm, at)
			}
			if name := target(kind, binary.LittleEndian.Uint32(head[28:]), binary.LittleEndian.Uint64(head[40:])); name != "" {
				targets[name] = true
			}
			at += size + int64(long)
		}
	}
	return nil
}

// target names an image's target; empty if it contains no code.
func target(kind uint16, arch uint32, flags uint64) string {
	name := ""
	switch kind {
	case isPTX:
		name = "compute"
	case isELF:
		name = "sm"
	default:
		return ""
	}
	name = fmt.Sprintf("%s_%d", name, arch)
	switch {
	case flags&specific != 0:
		name += "a"
	case flags&family != 0:
		name += "f"
	}
	return name
}
