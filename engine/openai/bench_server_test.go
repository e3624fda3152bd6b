//go:build linux

package openai

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// servePaced answers every request on raw connections with as many events as it
// asks for, at its rate, each a chunk of its own as vLLM sends them.
func servePaced() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go func() { // the parent's end is ours
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var chunks [][]byte
	for i := range 8 {
		e := vllmEvent(1000 + i)
		chunks = append(chunks, fmt.Appendf(nil, "%x\r\n%s\r\n", len(e), e))
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer conn.Close()
			in := bufio.NewReader(conn)
			for {
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				var asked struct {
					Events int           `json:"max_tokens"`
					Gap    time.Duration `json:"seed"`
				}
				_ = json.NewDecoder(req.Body).Decode(&asked)
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
				due := time.Now()
				for i := range asked.Events {
					due = due.Add(asked.Gap)
					time.Sleep(time.Until(due))
					if _, err := conn.Write(chunks[i%len(chunks)]); err != nil {
						return
					}
				}
				_, _ = io.WriteString(conn, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
			}
		}()
	}
}

// startPaced starts the server and returns its address.
func startPaced(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), benchServer+"=1")
	hold, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { hold.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(line)
}
