package ledger

import (
	"bytes"
	"strings"
	"testing"
)

// Whatever a file holds, reading it ends without a panic, and what reads well
// is written again byte for byte.
func FuzzRead(f *testing.F) {
	path, data, sizes := create(f, small()...)
	_ = path
	f.Add(data)
	f.Add(data[:sizes[2]])
	_, judged, _ := create(f, overruled()...)
	f.Add(judged)
	f.Add(data[:len(data)-9])
	f.Add(append(bytes.Clone(data), make([]byte, 600)...))
	f.Add([]byte(nil))
	f.Add(forge(header, "{}", "null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scan(bytes.NewReader(data), "fuzz", nil)
		if s.good > int64(len(data)) || len(s.Records) > 0 && int64(len(s.Records)) != s.tree.n-1 {
			t.Fatalf("%d of %d bytes good, %d records, %d leaves", s.good, len(data), len(s.Records), s.tree.n)
		}
		if err == nil && !s.torn && s.good != int64(len(data)) {
			t.Fatal("bytes that nothing covers")
		}
		if s.tree.n == 0 {
			return
		}
		leaves := []string{header}
		for _, r := range s.Records {
			leaf, _, err := encode(r)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, string(leaf))
		}
		if !bytes.Equal(forge(leaves...), data[:s.good]) {
			t.Fatal("written again, it differs")
		}
	})
}

// FuzzDecode reaches what the hashes keep FuzzRead from: the JSON of a record.
func FuzzDecode(f *testing.F) {
	for _, r := range append(small(), overruled()...) {
		leaf, _, err := encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(leaf)
	}
	f.Fuzz(func(t *testing.T, leaf []byte) {
		r, err := decode(leaf)
		if err != nil || r.check() != nil || strings.Contains(string(leaf), "\n") {
			return
		}
		again, _, err := encode(r)
		if err != nil || !bytes.Equal(again, leaf) {
			t.Fatalf("%s\nis written again as\n%s\n%v", leaf, again, err)
		}
	})
}
