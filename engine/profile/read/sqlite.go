package read

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// sqliteMagic starts every database of SQLite.
const sqliteMagic = "SQLite format 3\x00"

// maxRecord limits a row: the longest are kernel names.
const maxRecord = 16 << 20

// database reads the tables of an SQLite file sequentially, and does nothing else: no
// index, no query, no writing. The format is that of
// https://www.sqlite.org/fileformat2.html.
type database struct {
	f      io.ReaderAt
	page   int
	usable int
	pages  int64
	tables map[string]*sqlTable
	// seen limits a walk to the number of pages: a damaged file may have cycles.
	seen int64
	long []byte
}

type sqlTable struct {
	root    int64
	columns []string
	// rowid is the column that the row's key stands for, -1 for none.
	rowid int
}

var errDamaged = errors.New("the database is damaged: export it again")

func openDatabase(f *os.File, size int64) (*database, error) {
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("the head of the database: %w", damaged(err))
	}
	d := &database{f: f, page: int(binary.BigEndian.Uint16(head[16:])), tables: map[string]*sqlTable{}}
	if d.page == 1 {
		d.page = 1 << 16
	}
	d.usable = d.page - int(head[20])
	d.pages = (size + int64(d.page) - 1) / int64(max(d.page, 1))
	declared := int64(binary.BigEndian.Uint32(head[28:]))
	switch encoding := binary.BigEndian.Uint32(head[56:]); {
	case d.page < 512 || d.page&(d.page-1) != 0 || d.usable < 480:
		return nil, errDamaged
	case encoding > 1:
		return nil, errors.New("text in UTF-16: nsys export writes UTF-8")
	case declared > d.pages:
		return nil, fmt.Errorf("the file has %d of %d pages: it is truncated, or nsys is still writing it", d.pages, declared)
	}
	if wal, err := os.Stat(f.Name() + "-wal"); err == nil && wal.Size() > 0 {
		return nil, errors.New("it has a -wal file: something is still writing; close the database first")
	}
	schema := &sqlTable{root: 1, columns: []string{"type", "name", "tbl_name", "rootpage", "sql"}, rowid: -1}
	err := d.rows(schema, []string{"type", "name", "rootpage", "sql"}, func(row []cell) error {
		if string(row[0].text) != "table" {
			return nil
		}
		columns, rowid := columnsOf(string(row[3].text))
		d.tables[string(row[1].text)] = &sqlTable{root: row[2].n, columns: columns, rowid: rowid}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("table sqlite_master: %w", err)
	}
	return d, nil
}

// columnsOf parses the column names in the statement that created a table.
func columnsOf(sql string) (names []string, rowid int) {
	rowid = -1
	_, body, _ := strings.Cut(uncommented(sql), "(")
	depth, start := 0, 0
	take := func(def string) {
		words := strings.Fields(def)
		if len(words) == 0 {
			return
		}
		switch strings.ToUpper(words[0]) {
		case "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "CONSTRAINT":
			return
		}
		if upper := strings.ToUpper(def); len(words) > 1 && strings.EqualFold(words[1], "INTEGER") && strings.Contains(upper, "PRIMARY KEY") {
			rowid = len(names)
		}
		names = append(names, strings.Trim(words[0], "\"'`[]"))
	}
	for i := range len(body) {
		switch body[i] {
		case '(':
			depth++
		case ',':
			if depth == 0 {
				take(body[start:i])
				start = i + 1
			}
		case ')':
			if depth == 0 {
				take(body[start:i])
				return names, rowid
			}
			depth--
		}
	}
	return names, rowid
}

// uncommented is SQL without comments, which nsys puts after columns.
func uncommented(sql string) string {
	var b strings.Builder
	for sql != "" {
		line, block := strings.Index(sql, "--"), strings.Index(sql, "/*")
		at, end := line, "\n"
		if line < 0 || block >= 0 && block < line {
			at, end = block, "*/"
		}
		if at < 0 {
			break
		}
		b.WriteString(sql[:at] + " ")
		_, rest, _ := strings.Cut(sql[at+2:], end)
		sql = rest
	}
	return b.String() + sql
}

// cell is a value of a row. Text refers to a buffer that the next row overwrites.
type cell struct {
	n     int64
	text  []byte
	given bool
}

// rows iterates over a table, in key order, and passes the wanted columns; one that the
// table lacks is not given.
func (d *database) rows(t *sqlTable, wanted []string, row func([]cell) error) error {
	at, most := make([]int, len(t.columns)), -1
	for i, name := range t.columns {
		if at[i] = slices.Index(wanted, name); at[i] >= 0 {
			most = i
		}
	}
	at = at[:most+1]
	d.seen = 0
	w := &rowWalk{database: d, t: t, at: at, cells: make([]cell, len(wanted)), row: row}
	return w.tree(t.root, 0)
}

type rowWalk struct {
	*database
	t     *sqlTable
	at    []int
	cells []cell
	row   func([]cell) error
	bufs  [][]byte
}

// tree walks the pages below a page.
func (w *rowWalk) tree(number int64, depth int) error {
	w.seen++
	if depth > 32 || w.seen > w.pages || number < 1 || number > w.pages {
		return errDamaged
	}
	for len(w.bufs) <= depth {
		w.bufs = append(w.bufs, make([]byte, w.page))
	}
	page := w.bufs[depth]
	if _, err := w.f.ReadAt(page, (number-1)*int64(w.page)); err != nil {
		return fmt.Errorf("page %d: %w", number, damaged(err))
	}
	head := page
	if number == 1 {
		head = page[100:]
	}
	count := int(binary.BigEndian.Uint16(head[3:]))
	switch head[0] {
	case 0x05:
		if 12+2*count > len(head) {
			return fmt.Errorf("page %d: %w", number, errDamaged)
		}
		for i := range count {
			p := int(binary.BigEndian.Uint16(head[12+2*i:]))
			if p+4 > len(page) {
				return fmt.Errorf("page %d: %w", number, errDamaged)
			}
			if err := w.tree(int64(binary.BigEndian.Uint32(page[p:])), depth+1); err != nil {
				return err
			}
		}
		return w.tree(int64(binary.BigEndian.Uint32(head[8:])), depth+1)
	case 0x0d:
		if 8+2*count > len(head) {
			return fmt.Errorf("page %d: %w", number, errDamaged)
		}
		for i := range count {
			if err := w.leaf(page, int(binary.BigEndian.Uint16(head[8+2*i:]))); err != nil {
				return fmt.Errorf("page %d, row %d: %w", number, i, err)
			}
		}
		return nil
	}
	return fmt.Errorf("page %d does not belong to a table: %w", number, errDamaged)
}

// leaf reads one row.
func (w *rowWalk) leaf(page []byte, p int) error {
	if p >= len(page) {
		return errDamaged
	}
	size, n := varint(page[p:])
	key, m := varint(page[p+n:])
	p += n + m
	if n == 0 || m == 0 || size < 0 || size > maxRecord || p > len(page) {
		return errDamaged
	}
	record := page[p:]
	if most := int64(w.usable - 35); size > most {
		least := int64((w.usable-12)*32/255 - 23)
		local := least + (size-least)%int64(w.usable-4)
		if local > most {
			local = least
		}
		if local+4 > int64(len(record)) {
			return errDamaged
		}
		var err error
		if record, err = w.overflow(record[:local], int64(binary.BigEndian.Uint32(record[local:])), size); err != nil {
			return err
		}
	}
	if size > int64(len(record)) {
		return errDamaged
	}
	return w.record(record[:size], key)
}

// overflow is a row that continues in overflow pages.
func (w *rowWalk) overflow(start []byte, next, size int64) ([]byte, error) {
	w.long = append(w.long[:0], start...)
	for int64(len(w.long)) < size {
		if w.seen++; w.seen > w.pages || next < 1 || next > w.pages {
			return nil, errDamaged
		}
		part := make([]byte, w.usable)
		if _, err := w.f.ReadAt(part, (next-1)*int64(w.page)); err != nil {
			return nil, damaged(err)
		}
		next = int64(binary.BigEndian.Uint32(part))
		w.long = append(w.long, part[4:min(int64(len(part)), 4+size-int64(len(w.long)))]...)
	}
	return w.long, nil
}

func (w *rowWalk) record(record []byte, key int64) error {
	size, h := varint(record)
	if h == 0 || size < int64(h) || size > int64(len(record)) {
		return errDamaged
	}
	clear(w.cells)
	head, body := record[h:size], record[size:]
	for i := 0; i < len(w.at) && len(head) > 0; i++ {
		kind, n := int64(head[0]), 1
		if kind >= 0x80 {
			if kind, n = varint(head); n == 0 {
				return errDamaged
			}
		}
		head = head[n:]
		long := length(kind)
		if long > int64(len(body)) {
			return errDamaged
		}
		if to := w.at[i]; to >= 0 {
			c := &w.cells[to]
			c.given = kind != 0
			switch {
			case kind == 0:
			case kind >= 12:
				c.text = body[:long]
			case kind == 7:
				f := math.Float64frombits(binary.BigEndian.Uint64(body))
				if f != f || f > 9e18 || f < -9e18 {
					return errDamaged
				}
				c.n = int64(f)
			case kind >= 8:
				c.n = kind - 8
			default:
				c.n = int64(int8(body[0]))
				for _, b := range body[1:long] {
					c.n = c.n<<8 | int64(b)
				}
			}
		}
		body = body[long:]
	}
	if r := w.t.rowid; r >= 0 && r < len(w.at) && w.at[r] >= 0 {
		w.cells[w.at[r]] = cell{n: key, given: true}
	}
	return w.row(w.cells)
}

// length is the size of a value of a kind in bytes.
func length(kind int64) int64 {
	switch {
	case kind >= 12:
		return (kind - 12) / 2
	case kind < 0 || kind == 10 || kind == 11:
		return maxRecord + 1 // of no version
	}
	return [10]int64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0}[kind]
}

// varint is a number of 1 to 9 bytes; n is 0 if it is truncated.
func varint(b []byte) (v int64, n int) {
	for n = 0; n < len(b) && n < 8; n++ {
		v = v<<7 | int64(b[n]&0x7f)
		if b[n] < 0x80 {
			return v, n + 1
		}
	}
	if n < 8 || len(b) < 9 {
		return 0, 0
	}
	return v<<8 | int64(b[8]), 9
}
