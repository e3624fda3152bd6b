package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// parquetKind is one kind of raw data file. A column may be added within a version if it
// is optional; anything else is a new version.
type parquetKind struct {
	// key is the file's metadata key that holds the version.
	key string
	// what names its content, for messages.
	what string
	// version is written, and no other is read.
	version string
}

// Origin is the launch that a file was taken in. It is written into the file, so a file
// named by another launch's record is detected, whatever its digest.
type Origin struct {
	Run    string `json:"run"`
	Launch string `json:"launch"`
	// Arm is the key of the variant that was launched.
	Arm string `json:"arm"`
}

// originKey is the prefix of the metadata keys that hold an origin's parts in a Parquet
// file.
const originKey = "mxflow."

func (o Origin) parts() [][2]string {
	return [][2]string{{"run", o.Run}, {"launch", o.Launch}, {"arm", o.Arm}}
}

// Check returns a *verdict.Fault if a file says that it is from another launch.
func (o Origin) Check(file string, found Origin) error {
	for i, want := range o.parts() {
		if has := found.parts()[i][1]; has != want[1] {
			return &verdict.Fault{Reason: verdict.Say(
				"replay.raw_of_another",
				"the {of} named by launch {subject} are of another launch: {key} is {found}{found!absent}, "+
					"not {wanted}{wanted!empty}",
				verdict.Text("of", file), verdict.Text("key", want[0]), verdict.Text("wanted", want[1]),
				verdict.Text("found", has),
			).On(o.Launch)}
		}
	}
	return nil
}

// Origin is the origin that the files of a launch of the ledger must name.
func (s *Store) Origin(of *ledger.Launch) Origin {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Origin{s.index.RunOf[of.ID], of.ID, of.VariantKey}
}

// writeParquet encodes rows as a file, the same bytes for the same rows.
func writeParquet[R any](k parquetKind, of Origin, rows []R, more ...parquet.WriterOption) ([]byte, error) {
	var buf bytes.Buffer
	for _, part := range of.parts() {
		more = append(more, parquet.KeyValueMetadata(originKey+part[0], part[1]))
	}
	options := append([]parquet.WriterOption{
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault, Concurrency: 1}),
		parquet.CreatedBy("mxflow", strings.TrimPrefix(k.key, "mxflow."), k.version),
		parquet.KeyValueMetadata(k.key, k.version),
	}, more...)
	w := parquet.NewGenericWriter[R](&buf, options...)
	if _, err := w.Write(rows); err != nil {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	return buf.Bytes(), nil
}

// readParquet returns the rows of an artifact that a launch names, and none with an error. A
// digest vouches for the data: the Parquet library trusts what a file says about itself, and a
// damaged one has made it read outside its memory, which no recover catches.
func readParquet[R any](s *Store, k parquetKind, launch *ledger.Launch, sum string) (rows []R, err error) {
	data, err := s.Get(sum)
	if err != nil {
		return nil, err
	}
	defer func() {
		// Some damage ends in a panic; an error is better.
		if p := recover(); p != nil {
			err = fmt.Errorf("not readable as Parquet: %v", p)
		}
		if err != nil {
			rows, err = nil, fmt.Errorf("artifact %s: %w", sum, err)
		}
	}()
	// A file ends with the length of its footer and "PAR1"; the library would allocate
	// whatever length it finds there.
	if n := len(data); n < 12 || uint64(binary.LittleEndian.Uint32(data[n-8:])) > uint64(n-12) {
		return nil, errors.New("not readable as Parquet: its end is missing or damaged")
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("not readable as Parquet: %w", err)
	}
	if v, ok := f.Lookup(k.key); !ok {
		return nil, fmt.Errorf("a Parquet file, but not mxflow's %s", k.what)
	} else if v != k.version {
		return nil, fmt.Errorf("%s in version %s, but this mxflow reads %s: use a newer mxflow", k.what, v, k.version)
	}
	says := func(part string) string {
		text, _ := f.Lookup(originKey + part)
		return text
	}
	if err := s.Origin(launch).Check(k.what, Origin{says("run"), says("launch"), says("arm")}); err != nil {
		return nil, err
	}
	r := parquet.NewGenericReader[R](f)
	defer r.Close()
	for {
		some := make([]R, 64)
		n, err := r.Read(some)
		rows = append(rows, some[:n]...)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not readable as Parquet: %w", err)
		}
	}
}
