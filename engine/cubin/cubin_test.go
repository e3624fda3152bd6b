package cubin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"
)

// image is a piece of code as nvcc would leave it, after a header of the given size.
func image(kind uint16, arch uint32, flags uint64, header int, code string) []byte {
	b := make([]byte, header)
	binary.LittleEndian.PutUint16(b, kind)
	binary.LittleEndian.PutUint16(b[2:], 0x101)
	binary.LittleEndian.PutUint32(b[4:], uint32(header))
	binary.LittleEndian.PutUint64(b[8:], uint64(len(code)))
	binary.LittleEndian.PutUint32(b[28:], arch)
	binary.LittleEndian.PutUint64(b[40:], flags)
	return append(b, code...)
}

// fat is a fat binary of images.
func fat(images ...[]byte) []byte {
	all := bytes.Join(images, nil)
	b := binary.LittleEndian.AppendUint32(nil, magic)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, leastFat)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(all)))
	return append(b, all...)
}

// library is an ELF file with one section beside its names.
func library(section string, content []byte) []byte {
	names := "\x00" + section + "\x00.shstrtab\x00"
	const head, entry = 64, 64
	at := uint64(head)
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: head,
		Shoff: at + uint64(len(content)+len(names)), Shentsize: entry, Shnum: 3, Shstrndx: 2,
	}
	var b bytes.Buffer
	put := func(v any) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	put(h)
	b.Write(content)
	b.WriteString(names)
	put(elf.Section64{})
	put(elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: at, Size: uint64(len(content)), Addralign: 1})
	put(elf.Section64{Name: uint32(len(section) + 2), Type: uint32(elf.SHT_STRTAB), Off: at + uint64(len(content)), Size: uint64(len(names)), Addralign: 1})
	return b.Bytes()
}

func TestRead(t *testing.T) {
	sm80 := image(isELF, 80, 0x8011, 64, "machine code")
	full := fat(sm80, image(isELF, 121, 0x1108011, 112, "more"), image(isPTX, 90, 0, 72, ".version 8.0"))
	long := bytes.Clone(fat(sm80))
	binary.LittleEndian.PutUint64(long[8:], math.MaxUint64)
	longImage := bytes.Clone(fat(sm80))
	binary.LittleEndian.PutUint64(longImage[leastFat+8:], math.MaxInt64)
	short := bytes.Clone(fat(sm80))
	binary.LittleEndian.PutUint32(short[leastFat+4:], 0) // its header would be read forever
	for name, c := range map[string]struct {
		file []byte
		want string // empty for an error
	}{
		"several":              {library(".nv_fatbin", full), "[compute_90 sm_80 sm_121a]"},
		"two, with padding":    {library(".nv_fatbin", bytes.Join([][]byte{full, make([]byte, 12), fat(image(isELF, 75, 0x8011, 64, "old"))}, nil)), "[compute_90 sm_75 sm_80 sm_121a]"},
		"of a device linker":   {library("__nv_relfatbin", fat(sm80)), "[sm_80]"},
		"for a family":         {library(".nv_fatbin", fat(image(isELF, 103, 0x1208011, 112, ""))), "[sm_103f]"},
		"something else in it": {library(".nv_fatbin", fat(image(16, 80, 0, 64, "a list of files"))), "[]"},
		"no code":              {library(".text", full), "[]"},
		"an empty section":     {library(".nv_fatbin", nil), "[]"},
		"no ELF file":          {[]byte("!<arch>\n"), ""},
		"cut off":              {library(".nv_fatbin", full)[:200], ""},
		"not what it says":     {library(".nv_fatbin", append([]byte("\x01\x02\x03\x04 a text of another kind"), full...)), ""},
		"longer than its file": {library(".nv_fatbin", long), ""},
		"a long image":         {library(".nv_fatbin", longImage), ""},
		"an image of nothing":  {library(".nv_fatbin", short), ""},
	} {
		got, err := Read(bytes.NewReader(c.file))
		if (err != nil) != (c.want == "") || err == nil && fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, %v, want %s", name, got, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(fat(image(isELF, 80, 0x8011, 64, "code")))
	f.Add(fat(image(isPTX, 90, 0x100000, 72, ""), image(isELF, 121, 0, 112, "x")))
	f.Add([]byte{0x50, 0xed, 0x55, 0xba})
	f.Fuzz(func(t *testing.T, section []byte) {
		got, err := Read(bytes.NewReader(library(".nv_fatbin", section)))
		if err != nil && len(got) > 0 {
			t.Errorf("%v beside %v", got, err)
		}
	})
}

var update = flag.Bool("update", false, "write testdata anew")

// TestLibrary keeps testdata/library.so, which scenarios read: machine code for two SM
// versions and PTX for one.
func TestLibrary(t *testing.T) {
	file := library(".nv_fatbin", fat(image(isELF, 90, 0x8011, 64, "machine code"), image(isELF, 121, 0x1108011, 112, "more"), image(isPTX, 120, 0, 72, ".version 9.0")))
	if *update {
		if err := os.WriteFile("testdata/library.so", file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile("testdata/library.so"); err != nil || !bytes.Equal(kept, file) {
		t.Errorf("testdata/library.so differs: write it anew with -update: %v", err)
	}
}
