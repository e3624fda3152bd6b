// Package httpclient makes the HTTP clients that talk to engines.
package httpclient

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

const (
	// readBuffer is a dozen events of a stream, more than a client that keeps up ever finds
	// waiting; writeBuffer is for a request's headers, as its body bypasses it. Each stream
	// has one of both, so their sizes determine how many streams there can be.
	readBuffer  = 4 << 10
	writeBuffer = 2 << 10
)

// New returns a client that keeps up to so many idle connections to an engine; with 0 each
// request has its own, so measuring starts with none of ours.
//
// HTTP/1.1 gives every stream its own connection, so one stream's flow control or lost
// packet cannot delay another's events, and the engine's own HTTP server is used as most of
// its users do. Compression and proxies may hold events back, and HTTP_PROXY is for the
// outside world, so there are none. A redirect would count as latency and may lead away
// from the engine with its key, so none is followed. There is no time limit here: each
// request has its own. A nil config trusts what the system trusts.
func New(config *tls.Config, idle int) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:         dialer.DialContext,
			TLSClientConfig:     config,
			TLSHandshakeTimeout: 10 * time.Second,
			Protocols:           protocols,
			DisableCompression:  true,
			DisableKeepAlives:   idle == 0,
			MaxIdleConnsPerHost: idle,
			IdleConnTimeout:     90 * time.Second,
			ReadBufferSize:      readBuffer,
			WriteBufferSize:     writeBuffer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
