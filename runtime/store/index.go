package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// index is one open SQLite database made from the first applied records of the
// ledger. It has one connection and one user at a time.
type index struct {
	db      *sql.DB
	conn    *sql.Conn
	stmts   map[string]*sql.Stmt
	applied int
	root    string
}

// inMemory is the name of an index without a file.
const inMemory = ":memory:"

var errOtherSchema = errors.New("it was made by another version of mxflow")

// openIndex opens or creates an index. The write-ahead log lets readers in
// while it is written. Nothing is fsynced at a commit: after a power cut it may
// be behind the ledger, and catches up.
func openIndex(path string, readOnly bool) (*index, error) {
	dsn := path
	if path != inMemory {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		q := url.Values{"_pragma": {"busy_timeout(5000)"}}
		if readOnly {
			q.Set("mode", "ro")
		} else {
			q["_pragma"] = append(q["_pragma"], "journal_mode(WAL)", "synchronous(NORMAL)")
		}
		dsn = (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: q.Encode()}).String()
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	x := &index{db: db, stmts: map[string]*sql.Stmt{}}
	if err := x.open(readOnly); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

func (x *index) open(readOnly bool) (err error) {
	ctx := context.Background()
	if x.conn, err = x.db.Conn(ctx); err != nil {
		return err
	}
	if readOnly {
		// One transaction until it is closed: what a writer adds meanwhile is
		// not seen, so that the index stays as far as the ledger that was read.
		if _, err := x.conn.ExecContext(ctx, "BEGIN"); err != nil {
			return err
		}
	}
	var tables int
	if err := x.conn.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return err
	}
	if tables == 0 && !readOnly {
		if _, err := x.conn.ExecContext(ctx, "BEGIN IMMEDIATE;"+indexSchema+"COMMIT;"); err != nil {
			return err
		}
	}
	if err := x.readMeta(ctx); err != nil {
		return err
	}
	if readOnly {
		return nil
	}
	// A page that was damaged is better found now than in an answer.
	var sound string
	if err := x.conn.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&sound); err != nil {
		return err
	}
	if sound != "ok" {
		return fmt.Errorf("SQLite finds: %s", sound)
	}
	for name, text := range indexInserts {
		if x.stmts[name], err = x.conn.PrepareContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func (x *index) readMeta(ctx context.Context) error {
	meta := map[string]string{}
	rows, err := x.conn.QueryContext(ctx, `SELECT key, value FROM meta`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return err
		}
		meta[key] = value
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if meta["schema"] != indexVersion {
		return errOtherSchema
	}
	x.root = meta["root"]
	x.applied, err = strconv.Atoi(meta["applied"])
	return err
}

// catchUp applies the records that the index has not seen, in one transaction.
// root is the ledger's after all of them.
func (x *index) catchUp(records []*ledger.Record, root string) (err error) {
	if x.applied == len(records) {
		return nil
	}
	ctx := context.Background()
	if _, err := x.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, back := x.conn.ExecContext(ctx, "ROLLBACK")
			err = errors.Join(err, back)
		}
	}()
	for i := x.applied; i < len(records); i++ {
		if err := x.apply(i, records[i]); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	if err := x.exec("meta", strconv.Itoa(len(records)), "applied"); err != nil {
		return err
	}
	if err := x.exec("meta", root, "root"); err != nil {
		return err
	}
	if _, err := x.conn.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	x.applied, x.root = len(records), root
	return nil
}

func (x *index) exec(stmt string, args ...any) error {
	_, err := x.stmts[stmt].ExecContext(context.Background(), args...)
	return err
}

// close cannot fail in a way that matters: the index can be made again.
func (x *index) close() {
	for _, s := range x.stmts {
		if s != nil {
			s.Close()
		}
	}
	if x.conn != nil {
		x.conn.Close()
	}
	x.db.Close()
}
