package run

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestParseStat(t *testing.T) {
	const tail = " 3 0 -1 4194304 91 0 0 0 0 0 0 0 20 0 %d 0 4242 5 6"
	whole := proc{procID: procID{7, 4242}, ppid: 1, pgid: 2}
	zombie := whole
	zombie.gone = true
	for stat, want := range map[string]proc{
		fmt.Sprintf("7 (sleep) S 1 2"+tail, 1):       whole,
		fmt.Sprintf("7 (a) Z 9 9 (b) S 1 2"+tail, 1): whole, // a name made to mislead
		fmt.Sprintf("7 (sleep) Z 1 2"+tail, 1):       zombie,
		fmt.Sprintf("7 (sleep) Z 1 2"+tail, 5):       whole, // its main thread ended, others run
		"7 (sleep) S 1 2":                            {}, "": {},
	} {
		if got, err := parseStat([]byte(stat)); got != want || (err == nil) != (want != proc{}) {
			t.Errorf("%s: %+v, %v", stat, got, err)
		}
	}
}

func TestSignalSparesAReusedPID(t *testing.T) {
	self, err := readProc(os.Getpid())
	must.Do(t, err)
	earlier := procID{self.pid, self.start - 1}
	if err := earlier.signal(9); err == nil {
		t.Error("a process with another start time was signalled")
	}
}

// Each process is "pid ppid pgid mark"; those to be ended are marked with !.
func TestLeftovers(t *testing.T) {
	const self = 50
	for name, rows := range map[string]string{
		"marked, and what descends": "!10 1 10 mine, !11 10 10 -, !12 11 12 -",
		"another owner's":           "10 1 10 theirs, 11 10 10 -, !20 1 20 mine, 21 20 21 theirs, 22 21 21 -",
		"unmarked strangers":        "10 1 10 -, 11 10 10 -",
		"itself and its ancestors":  "10 1 10 mine, 40 10 40 -, 50 40 50 mine",
		"its own children":          "50 1 50 -, 51 50 51 mine, 52 51 51 -, !60 1 60 mine",
		"beside it in its group":    "10 1 10 -, !11 10 10 mine, 12 10 10 -",
	} {
		var table []proc
		marks, want := map[int]string{}, map[int]bool{}
		for row := range strings.SplitSeq(rows, ", ") {
			var p proc
			var mark string
			if _, err := fmt.Sscan(strings.TrimPrefix(row, "!"), &p.pid, &p.ppid, &p.pgid, &mark); err != nil {
				t.Fatalf("%s: %v", row, err)
			}
			if mark != "-" {
				marks[p.pid] = mark
			}
			if row[0] == '!' {
				want[p.pid] = true
			}
			table = append(table, p)
		}
		got := map[int]bool{}
		for _, p := range leftovers(table, self, "mine", func(p proc) string { return marks[p.pid] }) {
			got[p.pid] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: ends %v, want %v", name, got, want)
		}
	}
}
