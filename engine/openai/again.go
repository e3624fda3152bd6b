package openai

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
)

// maxStale bounds how many kept connections may turn out to be closed before a
// request gets through: as many as a server closes at once.
const maxStale = 8

// send makes a request. A server may close a kept connection at the very moment
// at which the next request goes out on it: many do after so many requests, and
// llama.cpp's does behind each stream (engine.Ask.ClosesStreams). The request then
// goes out on another one, where the old one had been used before and not one
// byte was answered: net/http does so by itself where nothing was written yet, and
// here where part of a long prompt was. The request that counts is still one, and
// the time of the failed attempt is in it; again is how often it went out once
// more, so that a server which drops what it has accepted is seen. A new
// connection that breaks is an error as ever.
func (c *Client) send(req *http.Request) (resp *http.Response, again int, err error) {
	var conns atomic.Int32
	for stale := 0; ; stale++ {
		reused := false
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			reused = info.Reused
			conns.Add(1)
		}}
		resp, err = c.HTTP.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		if err == nil || !reused || stale == maxStale || req.GetBody == nil || req.Context().Err() != nil || !closed(err) {
			return resp, max(int(conns.Load())-1, 0), err
		}
		body, lost := req.GetBody()
		if lost != nil {
			return resp, max(int(conns.Load())-1, 0), err
		}
		req.Body = body
	}
}

// closed reports whether an error says that the other side closed a connection.
func closed(err error) bool {
	for _, sign := range []error{net.ErrClosed, io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
