package run_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// upstream is a server with the pages of an engine, whose models are owned by owner. It
// accepts only the given key; if empty, any.
func upstream(owner, key string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, `{"error":"Unauthorized"}`, http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).
			Encode(map[string]any{"object": "list", "data": []any{map[string]any{"id": "m", "owned_by": owner}}})
	})
	return mux
}

// at is an endpoint of kind vllm, unless a change sets another.
func at(url string, change ...func(*engine.Spec)) engine.Spec {
	spec := engine.Spec{Kind: "openai", Endpoint: &engine.Endpoint{URL: url}, ReadyTimeout: time.Minute}
	for _, c := range change {
		c(&spec)
	}
	return spec
}

func attach(t *testing.T, spec engine.Spec) (engine.Instance, error) {
	t.Helper()
	inst, err := run.Endpoints{}.Launch(t.Context(), spec, engine.Launch{
		ID: "launch", Owner: "owner", LogPath: filepath.Join(t.TempDir(), "engine.log"),
	})
	if err == nil {
		t.Cleanup(func() {
			must.Do(t, inst.Stop(context.Background()))
		})
	}
	return inst, err
}

func TestEndpointIsFoundAndLeftRunning(t *testing.T) {
	pages := http.NewServeMux()
	pages.Handle("/", upstream("vllm", "k-123456"))
	pages.Handle("/llm/prod/", http.StripPrefix("/llm/prod", upstream("vllm", "k-123456")))
	s := httptest.NewServer(pages)
	defer s.Close()
	for suffix, base := range map[string]string{"": "", "/": "", "/v1": "", "/v1/": "", "/llm/prod/v1/": "/llm/prod"} {
		inst, err := attach(t, at(s.URL+suffix, func(s *engine.Spec) { s.Endpoint.APIKey = "k-123456" }))
		must.Do(t, err)
		if inst.BaseURL() != s.URL+base {
			t.Errorf("BaseURL of %q is %q", suffix, inst.BaseURL())
		}
		if err := inst.Ready(t.Context()); err != nil {
			t.Errorf("Ready with %q: %v", suffix, err)
		}
		if about := inst.About(); about["fresh"] != "no" || strings.Contains(fmt.Sprint(about), "k-123456") {
			t.Errorf("About is %v", about)
		}
		if inst.Startup() != 0 || inst.LogPath() != "" || inst.Exit() != nil {
			t.Errorf("startup %v, log %q, exit %v of a server that was running", inst.Startup(),
				inst.LogPath(), inst.Exit())
		}
		if _, err := inst.Output(t.Context(), "true"); !errors.Is(err, engine.ErrElsewhere) {
			t.Errorf("Output: %v", err)
		}
		must.Do(t, inst.Stop(t.Context()))
		select {
		case <-inst.Exited():
			t.Error("Stop closed Exited, and the server runs")
		default:
		}
	}
	if resp, err := http.Get(s.URL + "/health"); err != nil || resp.StatusCode != 200 {
		t.Errorf("Stop stopped somebody else's server: %v", err)
	}
}

func TestEndpointFoundDeadWhenAsked(t *testing.T) {
	s := httptest.NewServer(upstream("vllm", ""))
	inst, err := attach(t, at(s.URL))
	must.Do(t, err)
	must.Do(t, inst.Ready(t.Context()))
	alive := inst.(engine.Checker)
	if err := alive.Alive(t.Context()); err != nil {
		t.Errorf("Alive: %v", err)
	}
	s.Close()
	if err := alive.Alive(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Alive of a server that is gone: %v", err)
	}
	<-inst.Exited()
	if exit := inst.Exit(); exit == nil || exit.String() != "no longer reachable" {
		t.Errorf("Exit is %v", exit)
	}
}

// TestEndpointSaysWhatIsWrong: each mistake ends the wait at once (the limit is a minute) and names what to do.
func TestEndpointSaysWhatIsWrong(t *testing.T) {
	page := func(status int, body string, header ...string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
	}
	kind := func(name string) func(*engine.Spec) { return func(s *engine.Spec) { s.Kind = name } }
	key := func(s *engine.Spec) { s.Endpoint.APIKey = "wrong-key" }
	ca := certificates(t)
	for name, c := range map[string]struct {
		serve  http.Handler
		cert   *tls.Certificate // nil serves plain HTTP
		url    func(addr string) string
		change []func(*engine.Spec)
		want   []string
	}{
		"no key": {
			serve: upstream("vllm", "k-123456"),
			want:  []string{"requires a key, but none was sent", "api_key", "401 Unauthorized"},
		},
		"wrong key": {
			serve: upstream("vllm", "k-123456"), change: []func(*engine.Spec){key},
			want: []string{"refused the key", "api_key", "variable"},
		},
		"forbidden": {
			serve: page(403, "no"), change: []func(*engine.Spec){key},
			want: []string{"refused the key", "403"},
		},
		"redirect": {
			serve: page(308, "", "Location", "https://elsewhere.example/v1"),
			want:  []string{"redirects to https://elsewhere.example/v1", "url"},
		},
		"a proxy's page": {serve: page(200, "\n<!DOCTYPE html><html>"), want: []string{"web page"}},
		"another path": {
			serve: page(404, "404 page not found"),
			want:  []string{"lacks the readiness page", "correct the path"},
		},
		"another kind": {
			serve: upstream("llamacpp", ""), change: []func(*engine.Spec){kind("embedded")},
			want: []string{"of kind llamacpp", `owned_by "llamacpp"`, "plan says embedded"},
		},
		"ollama there": {serve: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				fmt.Fprint(w, "Ollama is running")
				return
			}
			http.NotFound(w, r)
		}), change: []func(*engine.Spec){kind("embedded")}, want: []string{"of kind ollama", "Ollama is running"}},
		"unknown authority": {
			serve: upstream("vllm", ""), cert: &ca.good,
			want: []string{"signed by unknown authority", "ca_file", "insecure"},
		},
		"another host": {
			serve: upstream("vllm", ""), cert: &ca.otherHost, change: []func(*engine.Spec){ca.trusted},
			want: []string{"certificate cannot be trusted", "127.0.0.1", "url"},
		},
		"TLS to a plain port": {
			serve: upstream("vllm", ""), url: func(addr string) string { return "https://" + addr },
			want: []string{"plain HTTP, not TLS", "http://"},
		},
		"plain to a TLS port": {serve: upstream("vllm", ""), cert: &ca.good, url: func(addr string) string {
			return "http://" + addr
		}, want: []string{"TLS, not plain HTTP", "https://"}},
		"no such host": {
			serve: upstream("vllm", ""), url: func(string) string { return "http://no-such-host.invalid:1" },
			want: []string{"unknown host \"no-such-host.invalid\"", "url"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(c.serve)
			s.Config.ErrorLog = quiet
			url := "http://" + s.Listener.Addr().String()
			if c.cert != nil {
				s.TLS = &tls.Config{Certificates: []tls.Certificate{*c.cert}}
				s.StartTLS()
				url = "https://" + s.Listener.Addr().String()
			} else {
				s.Start()
			}
			defer s.Close()
			if c.url != nil {
				url = c.url(s.Listener.Addr().String())
			}
			inst, err := attach(t, at(url, c.change...))
			if err == nil {
				err = inst.Ready(t.Context())
			}
			var f *engine.Failure
			if !errors.As(err, &f) {
				t.Fatalf("got %v, want a *engine.Failure", err)
			}
			for _, want := range c.want {
				if !strings.Contains(f.Error(), want) {
					t.Errorf("%v\nlacks %q", f, want)
				}
			}
			if strings.Contains(f.Error(), "wrong-key") {
				t.Errorf("the message gives the key away: %v", f)
			}
		})
	}
}

func TestEndpointOverTLS(t *testing.T) {
	ca := certificates(t)
	for name, c := range map[string]struct {
		client bool
		change func(*engine.Spec)
		fails  string
	}{
		"its authority is given": {change: ca.trusted},
		"unchecked":              {change: func(s *engine.Spec) { s.Endpoint.Insecure = true }},
		"asks who mxflow is":     {client: true, change: ca.trusted, fails: "wants a client certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(upstream("vllm", ""))
			s.Config.ErrorLog = quiet
			s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.good}}
			if c.client {
				s.TLS.ClientAuth, s.TLS.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool
			}
			s.StartTLS()
			defer s.Close()
			inst, err := attach(t, at("https://"+s.Listener.Addr().String(), c.change))
			must.Do(t, err)
			err = inst.Ready(t.Context())
			if c.fails == "" && err != nil {
				t.Error(err)
			}
			if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("Ready: %v, want %q in it", err, c.fails)
			}
		})
	}
}

func TestEndpointThatNobodyListensOnIsWaitedFor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	addr := l.Addr().String()
	l.Close()
	inst, err := attach(t, at("http://"+addr, func(s *engine.Spec) { s.ReadyTimeout = 200 * time.Millisecond }))
	must.Do(t, err)
	if err := inst.Ready(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "within 200ms; last answer: connection refused") {
		t.Errorf("Ready: %v", err)
	}
}

func TestEndpointFilesThatCannotBeUsed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	must.Do(t, os.WriteFile(empty, []byte("nothing"), 0o600))
	for want, change := range map[string]func(*engine.Endpoint){
		"cannot read its ca_file":           func(e *engine.Endpoint) { e.CAFile = "no-such.pem" },
		"contains no PEM certificate":       func(e *engine.Endpoint) { e.CAFile = empty },
		"its api_key is invalid: it starts": func(e *engine.Endpoint) { e.APIKey = "key\n" },
		"program \"no-such-program\" is not in PATH": func(e *engine.Endpoint) {
			e.Restart = []string{"no-such-program"}
		},
		"restart command \"false\" failed (exit ": func(e *engine.Endpoint) { e.Restart = []string{"false"} },
	} {
		_, err := attach(t, at("https://127.0.0.1:1", func(s *engine.Spec) { change(s.Endpoint) }))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Launch: %v, want %q in it", err, want)
		}
	}
}

func TestEndpointLauncherConforms(t *testing.T) {
	// A process that this launcher did not start.
	running := func(m enginetest.Misbehaviour) enginetest.SpecFunc {
		return func(t *testing.T) engine.Spec {
			inst := launched(t, enginetest.Fake(m))
			return at(inst.BaseURL() + "/v1")
		}
	}
	enginetest.RunForeign(t, run.Endpoints{}, running(""), running(enginetest.NeverReady))
}

// restarted is an endpoint whose restart command is a shell script.
func restarted(url, script string) engine.Spec {
	return at(url, func(s *engine.Spec) { s.Endpoint.Restart = []string{"sh", "-c", script} })
}

func TestRestartIsAFreshStartWithTheVariantsEnvironment(t *testing.T) {
	s := httptest.NewServer(upstream("vllm", ""))
	defer s.Close()
	said := filepath.Join(t.TempDir(), "said")
	spec := restarted(s.URL, `echo "$KERNEL ${MXFLOW_OWNER-none}" > "$SAID"`)
	spec.Env = map[string]string{"KERNEL": "cutlass", "SAID": said}
	t.Setenv("MXFLOW_OWNER", "of an mxflow around this one")
	inst, err := attach(t, spec)
	must.Do(t, err)
	// Without marks, nobody sweeps what the command leaves running.
	if text, err := os.ReadFile(said); err != nil || string(text) != "cutlass none\n" {
		t.Errorf("the command saw %q (%v)", text, err)
	}
	must.Do(t, inst.Ready(t.Context()))
	if inst.About()["fresh"] != "yes" || inst.Startup() <= 0 {
		t.Errorf("fresh is %q, startup %v", inst.About()["fresh"], inst.Startup())
	}
}

func TestRestartThatFails(t *testing.T) {
	_, err := attach(t, restarted("http://127.0.0.1:1", "echo unit vllm.service not found; exit 5"))
	var f *engine.Failure
	if !errors.As(err, &f) || f.Op != "start" || !strings.Contains(f.Error(), "exit status 5") ||
		!strings.Contains(f.Error(), "| unit vllm.service not found") {
		t.Errorf("Launch: %v", err)
	}
	spec := restarted("http://127.0.0.1:1", "exec sleep 1000")
	spec.ReadyTimeout = 100 * time.Millisecond
	if _, err := attach(t, spec); err == nil ||
		!strings.Contains(err.Error(), "did not end within 100ms: it must return") {
		t.Errorf("Launch: %v", err)
	}
	// What a shell started for it ends with it: the pipe ends with its last writer.
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	spec.Endpoint.Restart = []string{"sh", "-c", "exec 3>" + pipe + "; sleep 1000 & wait"}
	closed := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(pipe)
		closed <- err
	}()
	if _, err := attach(t, spec); err == nil {
		t.Error("a restart that never returns is none")
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err = run.Endpoints{}.Launch(ctx, restarted("http://127.0.0.1:1", "exec sleep 1000"),
		engine.Launch{ID: "launch", Owner: "owner", LogPath: filepath.Join(t.TempDir(), "log")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Launch: %v, want it to be context.Canceled", err)
	}
}

// quiet keeps a server's messages about broken handshakes, which are the point, out of the test's output.
var quiet = log.New(io.Discard, "", 0)

// authority is the test's certificate authority with what it has signed.
type authority struct {
	good, otherHost tls.Certificate
	pool            *x509.CertPool
	// trusted makes a spec trust it.
	trusted func(*engine.Spec)
}

func certificates(t *testing.T) authority {
	t.Helper()
	dir := t.TempDir()
	now := time.Now()
	template := func(serial int64, name string, until time.Time) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-48 * time.Hour),
			NotAfter:    until,
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must.Do(t, err)
		return k
	}
	root := template(1, "authority of the test", now.Add(24*time.Hour))
	root.IsCA, root.BasicConstraintsValid, root.KeyUsage = true, true, x509.KeyUsageCertSign
	rootKey := key()
	sign := func(c *x509.Certificate, k *ecdsa.PrivateKey) tls.Certificate {
		der, err := x509.CreateCertificate(rand.Reader, c, root, &k.PublicKey, rootKey)
		must.Do(t, err)
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: k}
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	self := sign(root, rootKey)
	rootFile := write("ca.pem", "CERTIFICATE", self.Certificate[0])

	local := []net.IP{net.IPv4(127, 0, 0, 1)}
	good := template(2, "engine", now.Add(24*time.Hour))
	good.IPAddresses = local
	other := template(3, "engine", now.Add(24*time.Hour))
	other.DNSNames = []string{"elsewhere.example"}

	a := authority{good: sign(good, key()), otherHost: sign(other, key()), pool: x509.NewCertPool()}
	parsed, err := x509.ParseCertificate(self.Certificate[0])
	must.Do(t, err)
	a.pool.AddCert(parsed)
	a.trusted = func(s *engine.Spec) { s.Endpoint.CAFile = rootFile }
	return a
}
