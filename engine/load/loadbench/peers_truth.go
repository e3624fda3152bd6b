package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
)

// truth is what the server knows of answers of so many tokens, and how many
// events they had.
func truth(all []mock.Truth, tokens int) (reported, int) {
	var ttft, gaps, spans float64
	var first []float64
	events := 0
	for _, t := range all {
		if t.Tokens != tokens || t.Broken || len(t.Sent) < 2 {
			continue
		}
		ms := float64(t.TTFT()) / 1e6
		first, ttft = append(first, ms), ttft+ms
		events += len(t.Sent)
		gaps += float64(len(t.Sent) - 1)
		spans += float64(t.Sent[len(t.Sent)-1]-t.Sent[0]) / 1e6
	}
	if events == 0 {
		return reported{}, 0
	}
	return reported{TTFT: ttft / float64(len(first)), TTFTp99: quantile99(first), ITL: spans / gaps}, events
}

// serveBook serves a text from which llama-benchy cuts its prompts.
func serveBook() (url string, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	text := strings.Repeat("The river carries sand to the sea, and the sea gives some of it back to the shore. ", 2000)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })}
	go func() { _ = s.Serve(l) }()
	return "http://" + l.Addr().String() + "/book.txt", func() { _ = s.Close() }, nil
}

func (r result) printPeers(w io.Writer) {
	if len(r.Peers) == 0 {
		return
	}
	fmt.Fprintf(w, "\n| tool | streams | tok/s each | TTFT mean / p99 reported, ms | true | ITL mean reported, ms | true | CPU µs/event | mxflow | ratio |\n")
	fmt.Fprintf(w, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, p := range r.Peers {
		fmt.Fprintf(w, "| %s | %d | %g | %.1f / %.1f | %.1f / %.1f | %.3f | %.3f | %.1f | %.1f | %.1f × |\n", p.Tool, p.Streams, p.Rate,
			p.Reported.TTFT, p.Reported.TTFTp99, p.Truth.TTFT, p.Truth.TTFTp99, p.Reported.ITL, p.Truth.ITL, p.CPU, p.Client, p.Ratio)
	}
}
