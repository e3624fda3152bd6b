package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdFreePort is
//
//	free-port VARIABLE PIDFILE
//
// It sets a variable to a port on which nobody listens, for a server that the
// scenario starts by itself and whose process ID it writes to PIDFILE: that one
// is ended with the scenario.
func cmdFreePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: free-port VARIABLE PIDFILE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	ts.Check(l.Close())
	file := ts.MkAbs(args[1])
	ts.Defer(func() {
		text, err := os.ReadFile(file)
		if pid, convErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && convErr == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// cmdTLSFront is
//
//	tls-front VARIABLE PORT KEY
//
// It puts an HTTPS server in front of the one on PORT, which wants KEY as a
// bearer token, sets the variable to its URL and writes the certificate of its
// authority to ca.pem.
func cmdTLSFront(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: tls-front VARIABLE PORT KEY")
	}
	to := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "127.0.0.1:" + args[1]}) },
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+args[2] {
			http.Error(w, `{"error":"Unauthorized"}`, http.StatusUnauthorized)
			return
		}
		// Read here and whole: a server ends a request's body with the first byte of
		// its answer, which may be before the proxy has seen the body's end, and then
		// it breaks the connection off.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		to.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = to.ErrorLog
	cert, ca := frontCertificate(ts)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	ts.Defer(s.Close)
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), ca, 0o600))
	ts.Setenv(args[0], "https://"+s.Listener.Addr().String())
}

// frontCertificate is a certificate for 127.0.0.1 that is its own authority.
func frontCertificate(ts *testscript.TestScript) (tls.Certificate, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	ts.Check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
