package main

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
)

// The command line that stands in a plan asks for the same plan again.
func TestABLine(t *testing.T) {
	root := newRootCommand(&app{})
	c, _, _ := root.Find([]string{"ab"})
	given := []string{"--a", "vllm serve m", "--b", "vllm serve m --x", "--claim", "-3%", "--answers", "0.9", "--timeout", "20m", "--accept", "packages,repo.vllm", "--launches", "6", "--dry-run", "--state", "my record"}
	try.OK(t, c.ParseFlags(given))
	const want = "mxflow ab --a 'vllm serve m' --accept packages --accept repo.vllm --answers 0.9 --b 'vllm serve m --x' --claim -3% --timeout 20m0s"
	got, again := abLines(c.Flags(), "", []string{"--max-num-seqs", "4"})
	if got != want+" -- --max-num-seqs 4" {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// What is asked again is asked of the same record, and more flags come before the servers' arguments.
	if got := again("--rerun"); got != strings.Replace(want, "--timeout", "--launches 6 --state 'my record' --timeout", 1)+" --rerun -- --max-num-seqs 4" {
		t.Errorf("again: %s", got)
	}
}
