package embedded

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"testing"
)

// process is serve running in a goroutine, in place of a child process.
type process struct {
	url    string
	stop   context.CancelFunc
	log    *bytes.Buffer // read it after wait
	exits  chan int
	result chan error
}

func start(t testing.TB, fault string, change func(*Config)) *process {
	t.Helper()
	config := testConfig()
	config.Host = "127.0.0.1"
	faults, err := ParseFaults(fault)
	if err != nil {
		t.Fatal(err)
	}
	config.Faults = faults
	if change != nil {
		change(&config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{stop: cancel, log: &bytes.Buffer{}, exits: make(chan int, 8), result: make(chan error, 1)}
	address := make(chan net.Addr, 1)
	go func() {
		p.result <- serve(ctx, config, p.log, func(code int) { p.exits <- code }, func(a net.Addr) { address <- a })
	}()
	p.url = "http://" + (<-address).String()
	t.Cleanup(cancel)
	return p
}

// ready polls /health; every poll is a round trip, so there is nothing to
// sleep for.
func (p *process) ready(t testing.TB) {
	t.Helper()
	for {
		if status, _ := get(t, p.url+"/health"); status == http.StatusOK {
			return
		}
	}
}

// wait stops the process and returns its log.
func (p *process) wait(t testing.TB) string {
	t.Helper()
	p.stop()
	if err := <-p.result; err != nil {
		t.Errorf("serve ended with %v", err)
	}
	return p.log.String()
}

const paris = `{"prompt":"The capital of France is","max_tokens":8,"temperature":0}`
