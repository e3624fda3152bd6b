package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
)

// TestMain lets this binary play the roles that loadbench runs itself for, and
// that of another tool.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "role-"):
		err = run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	case len(os.Args) > 1 && os.Args[1] == "--base-url":
		err = playBenchy(os.Args[1:])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// playBenchy is a tool with llama-benchy's flags and result.
func playBenchy(args []string) error {
	flags := flag.NewFlagSet("benchy", flag.ContinueOnError)
	url, out := flags.String("base-url", "", ""), flags.String("save-result", "", "")
	streams, tokens := flags.Int("concurrency", 0, ""), flags.Int("tg", 0, "")
	book, tokenizer := flags.String("book-url", "", ""), flags.String("tokenizer", "", "")
	for _, name := range []string{"model", "pp", "runs", "latency-mode", "format"} {
		flags.String(name, "", "")
	}
	for _, name := range []string{"no-warmup", "skip-coherence", "no-adapt-prompt"} {
		flags.Bool(name, false, "")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := os.Stat(*tokenizer + "/tokenizer.json"); err != nil {
		return err
	}
	if !strings.HasSuffix(*book, "/book.txt") {
		return fmt.Errorf("book %q", *book)
	}
	var all sync.WaitGroup
	var failed firstError
	for i := range *streams {
		all.Go(func() {
			failed.note(plainRead(context.Background(), http.DefaultClient, strings.TrimSuffix(*url, "/v1"), fmt.Sprint("tool ", i),
				mock.Pacing{TTFT: firstToken.Microseconds(), ITL: 1000, Tokens: *tokens, PerEvent: 1}, new(counter)))
		})
	}
	all.Wait()
	if failed.err != nil {
		return failed.err
	}
	return os.WriteFile(*out, []byte(`{"benchmarks":[{"e2e_ttft":{"values":[100,300]},"tg_req_throughput":{"values":[50,50]}}]}`), 0o644)
}

// opt skips what takes seconds to watch, unless it is asked for.
func opt(t *testing.T) {
	t.Helper()
	if os.Getenv("MXFLOW_TEST_LONG") == "" {
		t.Skip("takes several seconds: set MXFLOW_TEST_LONG=1")
	}
}

func TestSmoke(t *testing.T) {
	opt(t)
	var out, said bytes.Buffer
	args := []string{"--cpus", "0", "--grid", "3x50", "--window", "200ms", "--repeat", "2", "--no-parser", "--json", "--batched"}
	if err := run(t.Context(), args, nil, &out, &said); err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 1 || r.Rows[0].Rounds != 2 || len(r.Marks) != 5 || len(r.Saturation) != 0 || !r.Batched {
		t.Fatalf("%s", out.String())
	}
	one := r.Rows[0]
	for name, o := range map[string]outcome{"client": one.Client, "floor": one.Floor} {
		if o.Events < 1 || !(o.Received > 0) || !(o.CPU > 0) || !(o.Memory > 1) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if one.Client.Errors == nil || !(one.Client.Sent > 0) || !(one.Ratio > 0) {
		t.Errorf("client %+v, ratio %v", one.Client, one.Ratio)
	}
	if one.Clock == nil || one.Clock.Errors == nil || one.Clock.Errors.TTFTp50 <= 0 {
		t.Errorf("floor with a clock: %+v", one.Clock)
	}
	if e := one.Client.Errors; e != nil && (e.TTFTp50 <= 0 || e.ITLp99 < e.ITLp50) {
		t.Errorf("errors %+v", e)
	}
	var page strings.Builder
	r.print(&page)
	if !strings.Contains(page.String(), "| 3       | 50") || strings.Contains(page.String(), "behind") {
		t.Errorf("table\n%s", page.String())
	}
}

func TestRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`--grid has "3x"`:      {"--grid", "1x10,3x"},
		`--grid has "0x5"`:     {"--grid", "0x5"},
		`--grid has "3xNaN"`:   {"--grid", "3xNaN"},
		"--repeat 0":           {"--repeat", "0"},
		"--window -1s":         {"--window", "-1s"},
		`unknown argument "x"`: {"x"},
		"no job":               {roleClient},
	} {
		if err := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

// Another tool is measured as llama-benchy is, and one that sends less than it
// was asked for is found out.
func TestPeer(t *testing.T) {
	opt(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bencher{options: options{window: 200 * time.Millisecond, repeat: 1, benchy: self}, self: self, stderr: io.Discard}
	benchy := b.tools()[0]
	p, err := b.peer(t.Context(), benchy, row{Streams: 2, Rate: 20})
	if err != nil {
		t.Fatal(err)
	}
	if p.Reported.TTFT != 200 || p.Reported.ITL != 20 || !(p.Truth.TTFT >= 100) || !(p.Truth.ITL > 0) || p.Client <= 0 || p.Ratio == 0 {
		t.Errorf("%+v", p)
	}
	_, err = b.peer(t.Context(), tool{"lazy", "true", benchyArguments, readBenchy}, row{Streams: 2, Rate: 20})
	if err == nil || !strings.Contains(err.Error(), "it was sent 0 events") {
		t.Errorf("a tool that does nothing: %v", err)
	}
	_, err = b.peer(t.Context(), tool{"broken", "false", benchyArguments, readBenchy}, row{Streams: 2, Rate: 20})
	if err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("a tool that fails: %v", err)
	}
}

func TestTruthOfPeers(t *testing.T) {
	sent := func(tokens int, at ...int64) mock.Truth { return mock.Truth{Tokens: tokens, Sent: at} }
	broken := sent(3, 1e6, 2e6)
	broken.Broken = true
	got, events := truth([]mock.Truth{sent(3, 10e6, 12e6, 14e6), sent(3, 20e6, 24e6, 28e6), sent(9, 1, 2, 3), broken}, 3)
	if events != 6 || got.TTFT != 15 || got.ITL != 3 || got.TTFTp99 != 20 {
		t.Errorf("%+v of %d events", got, events)
	}
	if got, events := truth(nil, 3); events != 0 || got != (reported{}) {
		t.Errorf("nothing: %+v", got)
	}
}
