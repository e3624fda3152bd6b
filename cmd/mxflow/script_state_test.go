package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mxflow/mxflow/runtime/store"
)

// cmdNoEngines is
//
//	no-engines STATE-DIR
//
// Nothing that was started on behalf of the state directory runs any more. The
// kernel may need a moment to end the child of a killed parent, so this polls. A
// child that its parent's end met between fork and exec has no mark yet; it is known
// by the lock of the state directory, which it holds until then.
func cmdNoEngines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: no-engines STATE-DIR")
	}
	mark := []byte("MXFLOW_OWNER=" + ownerOf(ts.MkAbs(args[0])))
	var left []string
	for limit := time.Now().Add(patience / 6); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		held, by, err := store.AtWork(ts.MkAbs(args[0]))
		ts.Check(err)
		if left = marked(mark); held {
			left = append(left, fmt.Sprintf("who holds the lock: %+v", by))
		}
		if len(left) == 0 {
			return
		}
	}
	ts.Fatalf("still running: %s", strings.Join(left, "; "))
}

// marked lists the processes with an entry in their environment.
func marked(entry []byte) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		// A process that ends meanwhile, or of another user, cannot be read.
		environ, _ := os.ReadFile(file)
		for _, kv := range bytes.Split(environ, []byte{0}) {
			if bytes.Equal(kv, entry) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
				list = append(list, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
	}
	return list
}

// cmdFlipByte is
//
//	flip-byte FILE TEXT
//
// It changes the lowest bit of the first byte of TEXT's first place in a file,
// as bad storage or a forger would.
func cmdFlipByte(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip-byte FILE TEXT")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	at := bytes.Index(data, []byte(args[1]))
	if at < 0 {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	data[at] ^= 1
	ts.Check(os.WriteFile(path, data, 0o644))
}

// cmdCutAfter ends a ledger with its last line that holds a text, as a crash
// right after it would have.
func cmdCutAfter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut-after LEDGER TEXT")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	at := bytes.LastIndex(data, []byte(args[1]))
	if at < 0 {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	end := at + bytes.IndexByte(data[at:], '\n') + 1
	ts.Check(os.WriteFile(path, data[:end], 0o644))
	ts.Check(os.Remove(path + ".checkpoint"))
}
