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
)

// parquetKind is one kind of file that raw data are kept in. A column may be
// added within a version if it is optional; anything else is a new version.
type parquetKind struct {
	// key is the file's metadata key that holds the version.
	key string
	// what it holds, for messages.
	what string
	// version is written, and no other is read.
	version string
}

// writeParquet is a file of rows, the same bytes for the same rows.
func writeParquet[R any](k parquetKind, rows []R, more ...parquet.WriterOption) ([]byte, error) {
	var buf bytes.Buffer
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

// readParquet hands every row of a file to use, in their order, reading so many
// at a time. It reads what a digest vouches for, and nothing else may reach it:
// the Parquet library trusts what a file says about itself, and a damaged one
// has made it read outside of its memory, which no recover catches. Artifacts
// of a stranger's state directory are not for it.
func readParquet[R any](k parquetKind, data []byte, atOnce int, use func(*R) error) (err error) {
	defer func() {
		// Some of what it trusts ends in a panic, which an error is better than.
		if p := recover(); p != nil {
			err = fmt.Errorf("not readable as Parquet: %v", p)
		}
	}()
	// A file ends with the length of its footer and "PAR1"; the library would
	// allocate whatever length stands there.
	if n := len(data); n < 12 || uint64(binary.LittleEndian.Uint32(data[n-8:])) > uint64(n-12) {
		return errors.New("not readable as Parquet: its end is missing or damaged")
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("not readable as Parquet: %w", err)
	}
	if v, ok := f.Lookup(k.key); !ok {
		return fmt.Errorf("a Parquet file, but not of mxflow's %s", k.what)
	} else if v != k.version {
		return fmt.Errorf("%s in version %s, and this mxflow reads %s: use a newer mxflow", k.what, v, k.version)
	}
	r := parquet.NewGenericReader[R](f)
	defer r.Close()
	rows := make([]R, atOnce)
	for {
		n, err := r.Read(rows)
		for i := range rows[:n] {
			if err := use(&rows[i]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not readable as Parquet: %w", err)
		}
	}
}

// putAs stores values as the file that encode makes of them.
func putAs[T any](s *Store, values []T, encode func([]T) ([]byte, error)) (sum string, err error) {
	data, err := encode(values)
	if err != nil {
		return "", err
	}
	return s.Put(data)
}

// getAs is the way back; there are no values where there is an error.
func getAs[T any](s *Store, sum string, decode func([]byte) ([]T, error)) ([]T, error) {
	data, err := s.Get(sum)
	if err != nil {
		return nil, err
	}
	values, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("artifact %s: %w", sum, err)
	}
	return values, nil
}
