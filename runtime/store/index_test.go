package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// dump is everything an index holds, in order.
func dump(x *index) (string, error) {
	var out strings.Builder
	for _, table := range []string{"meta", "runs", "decisions", "waivers", "rules", "inputs", "launches", "metrics"} {
		rows, err := x.conn.QueryContext(context.Background(), `SELECT * FROM `+table+` ORDER BY 1, 2`)
		if err != nil {
			return "", err
		}
		columns, _ := rows.Columns()
		for rows.Next() {
			row := make([]any, len(columns))
			for i := range row {
				row[i] = new(sql.NullString)
			}
			if err := rows.Scan(row...); err != nil {
				return "", err
			}
			fmt.Fprint(&out, table)
			for i, cell := range row {
				fmt.Fprintf(&out, " %s=%v", columns[i], *cell.(*sql.NullString))
			}
			fmt.Fprintln(&out)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

func dumpStore(t testing.TB, s *Store) (out string) {
	t.Helper()
	if err := s.query(func(_ context.Context, x *index) (err error) { out, err = dump(x); return err }); err != nil {
		t.Fatal(err)
	}
	return out
}

// However the records came in, the index is the same as one made from the
// whole ledger.
func TestRebuildEqualsIncremental(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		recs := invent(rng, 120)
		s := open(t, dir)
		for rest := recs; len(rest) > 0; {
			n := min(1+rng.IntN(20), len(rest))
			add(t, s, rest[:n]...)
			rest = rest[n:]
			if rng.IntN(4) == 0 {
				s.Close()
				s = open(t, dir)
			}
		}
		incremental := dumpStore(t, s)
		fresh, err := s.inMemory()
		if err != nil {
			t.Fatal(err)
		}
		if rebuilt, err := dump(fresh); err != nil || rebuilt != incremental {
			t.Fatalf("seed %d: incremental\n%s\nrebuilt\n%s", seed, incremental, rebuilt)
		}
		fresh.close()
		if n := s.Notices(); len(n) != 0 {
			t.Errorf("seed %d: %q", seed, n)
		}
		if !strings.Contains(incremental, "metrics") || !strings.Contains(incremental, "inputs") {
			t.Errorf("seed %d: nothing to compare", seed)
		}
	}
}

// Whatever happened to index.db, the store opens, says so, and knows all.
func TestDamagedIndexIsMadeAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	recs := invent(rng, 90)
	for name, c := range map[string]struct {
		spoil  func(t *testing.T, path string)
		silent bool
	}{
		"garbage": {func(t *testing.T, path string) {
			rewrite(t, path, func(b []byte) []byte { return []byte("garbage, not a database at all") })
		}, false},
		"header": {func(t *testing.T, path string) {
			rewrite(t, path, func(b []byte) []byte { copy(b, "garbage garbage "); return b })
		}, false},
		"middle pages": {func(t *testing.T, path string) {
			rewrite(t, path, func(b []byte) []byte { noise(rng, b[4096:]); return b })
		}, false},
		"truncated":    {func(t *testing.T, path string) { rewrite(t, path, func(b []byte) []byte { return b[:len(b)/2] }) }, false},
		"other schema": {func(t *testing.T, path string) { change(t, path, `UPDATE meta SET value = '99' WHERE key = 'schema'`) }, false},
		"other root":   {func(t *testing.T, path string) { change(t, path, `UPDATE meta SET value = 'x' WHERE key = 'root'`) }, false},
		"from the future": {func(t *testing.T, path string) {
			change(t, path, `UPDATE meta SET value = '999' WHERE key = 'applied'`)
		}, false},
		"no meta":     {func(t *testing.T, path string) { change(t, path, `DROP TABLE meta`) }, false},
		"no launches": {func(t *testing.T, path string) { change(t, path, `DROP TABLE launches`) }, false},
		"empty":       {func(t *testing.T, path string) { rewrite(t, path, func([]byte) []byte { return nil }) }, true},
		"gone":        {func(t *testing.T, path string) { os.Remove(path) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			add(t, s, recs...)
			want := dumpStore(t, s)
			s.Close()
			c.spoil(t, filepath.Join(dir, "index.db"))

			// A reader changes nothing and answers all the same.
			r := openReadOnly(t, dir)
			if got := dumpStore(t, r); got != want {
				t.Error("a reader answers otherwise")
			}
			r.Close()
			if left, _ := filepath.Glob(filepath.Join(dir, "index.db.damaged-*")); len(left) != 0 {
				t.Errorf("a reader set aside %v", left)
			}

			s = open(t, dir)
			if got := dumpStore(t, s); got != want {
				t.Errorf("made again, the index holds\n%s\nwant\n%s", got, want)
			}
			aside, _ := filepath.Glob(filepath.Join(dir, "index.db.damaged-1"))
			if (len(aside) == 0) != c.silent || (len(s.Notices()) == 0) != c.silent {
				t.Errorf("set aside %v, notices %q", aside, s.Notices())
			}
			add(t, s, runStart("later"))
			s.Close()
			if s = open(t, dir); len(s.Notices()) != 0 {
				t.Errorf("opened again: %q", s.Notices())
			}
		})
	}
}

// A ledger that is another one than the index was made from is the truth.
func TestIndexOfAnotherLedger(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	s := open(t, a)
	add(t, s, runStart("a"))
	s.Close()
	other := open(t, b)
	add(t, other, runStart("b"), runEnd("b"))
	want := dumpStore(t, other)
	other.Close()
	data, err := os.ReadFile(filepath.Join(a, "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(b, "index.db"), data, 0o644)
	s = open(t, b)
	if got := dumpStore(t, s); got != want || len(s.Notices()) != 1 {
		t.Errorf("%s\n%q", got, s.Notices())
	}
}

// An index that breaks while a run goes on costs a notice, never a decision.
func TestIndexBreaksInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, runStart("r"))
	s.index.conn.ExecContext(context.Background(), `DROP TABLE decisions`)
	add(t, s, decision("r", "n", 1, verdict.Pass))
	if len(s.Notices()) != 1 || !strings.Contains(s.Notices()[0], "nothing that was recorded is lost") {
		t.Errorf("notices %q", s.Notices())
	}
	add(t, s, launch("r", "l", "v", 3, true))
	if mean, n := s.MeanLaunchSeconds("v", ""); mean != 3 || n != 1 {
		t.Errorf("%v, %d", mean, n)
	}
	// And while a question is asked.
	s.index.conn.ExecContext(context.Background(), `DROP TABLE launches`)
	if mean, n := s.MeanLaunchSeconds("v", ""); mean != 3 || n != 1 {
		t.Errorf("%v, %d", mean, n)
	}
	want := dumpStore(t, s)
	s.Close()
	if s = open(t, dir); dumpStore(t, s) != want {
		t.Error("opened again, the index holds something else")
	}
	if rep, err := ledger.Verify(s.LedgerPath()); err != nil || rep.Records != 3 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// Where the index cannot have a file, it is in memory.
func TestIndexWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "index.db", "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	add(t, s, launch("r", "l", "v", 3, true))
	if mean, n := s.MeanLaunchSeconds("v", ""); mean != 3 || n != 1 {
		t.Errorf("%v, %d", mean, n)
	}
	if len(s.Notices()) != 1 || !strings.Contains(s.Notices()[0], "in memory") {
		t.Errorf("notices %q", s.Notices())
	}
}

func rewrite(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(b), 0o644); err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func noise(rng *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
}
