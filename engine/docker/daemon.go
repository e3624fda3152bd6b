// Package docker launches engines in containers: it finds the daemon as the docker
// command would, starts a container, follows its output into the launch's log and removes
// it. Everything it starts has labels, by which Sweep finds what a killed mxflow left
// behind. It knows neither plans nor an engine's answers once it is ready.
package docker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/client"
)

const (
	// answerLimit is how long a daemon may take to answer a ping; sshLimit is longer, as
	// a connection must be made and a key exchanged first.
	answerLimit = 10 * time.Second
	sshLimit    = 40 * time.Second
	// oldest is the API of Docker 19.03, the first to support GPUs in containers.
	oldestMajor, oldestMinor = 1, 40
)

// ErrUnreachable is wrapped by every error that means no daemon answers.
var ErrUnreachable = errors.New("cannot reach the docker daemon")

// Daemon is a connected docker daemon. It is safe for concurrent use.
type Daemon struct {
	*client.Client
	// Name is for messages: "unix:///var/run/docker.sock", or `context "gb10"
	// (ssh://me@gb10)`.
	Name string

	end endpoint
}

// daemons caches the clients made by Connect, by endpoint: each keeps its connections,
// and a process uses few.
var daemons = struct {
	sync.Mutex
	by map[string]*Daemon
}{by: map[string]*Daemon{}}

// Connect finds the daemon that the docker command would use with --host host or
// --context name, and checks that it answers. If both are empty it uses DOCKER_HOST,
// DOCKER_CONTEXT and the current context, in this order. The same daemon gives the same
// *Daemon, which is never closed.
func Connect(ctx context.Context, host, name string) (*Daemon, error) {
	end, err := findEndpoint(host, name)
	if err != nil {
		return nil, err
	}
	d, err := daemonAt(end)
	if err != nil {
		return nil, err
	}
	return d, d.check(ctx)
}

func daemonAt(end endpoint) (*Daemon, error) {
	daemons.Lock()
	defer daemons.Unlock()
	key := end.context + "\x00" + end.host
	if d := daemons.by[key]; d != nil {
		return d, nil
	}
	opts := []client.Opt{client.WithHost(end.host), client.WithAPIVersionNegotiation()}
	switch {
	case end.scheme() == "ssh":
		dial, err := sshDialer(end.host)
		if err != nil {
			return nil, err
		}
		// The name only appears in the Host header: the dialer knows the target.
		opts[0] = client.WithHost("http://docker.invalid")
		opts = append(opts, client.WithDialContext(dial))
	case end.tls != nil:
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: end.tls}, CheckRedirect: client.CheckRedirect}
		opts = append([]client.Opt{client.WithHTTPClient(web)}, opts...)
	}
	c, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, fmt.Errorf("docker daemon %s: %w", end, err)
	}
	d := &Daemon{Client: c, Name: end.String(), end: end}
	daemons.by[key] = d
	return d, nil
}

// check checks that the daemon answers and is recent enough.
func (d *Daemon) check(ctx context.Context) error {
	limit := answerLimit
	if d.end.scheme() == "ssh" {
		limit = sshLimit
	}
	asking, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if path, ok := strings.CutPrefix(d.end.host, "unix://"); ok {
		// The client's own error hides why a socket cannot be used.
		conn, err := (&net.Dialer{}).DialContext(asking, "unix", path)
		if err != nil {
			return d.unreachable(ctx, err)
		}
		_ = conn.Close()
	}
	pong, err := d.Ping(asking)
	if err != nil {
		return d.unreachable(ctx, err)
	}
	if !newEnough(pong.APIVersion) {
		return fmt.Errorf("docker daemon %s is too old: it has API %q, required ≥ %d.%d (Docker 19.03 or newer)",
			d.Name, pong.APIVersion, oldestMajor, oldestMinor)
	}
	d.NegotiateAPIVersionPing(pong)
	return nil
}

// plainRefused matches how a TLS server appears to a client without TLS.
var plainRefused = regexp.MustCompile(`EOF|malformed HTTP|HTTPS|reset by peer`)

func newEnough(version string) bool {
	major, minor, _ := strings.Cut(version, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err == nil && err2 == nil && (a > oldestMajor || a == oldestMajor && b >= oldestMinor)
}

// unreachable explains why no daemon answers.
func (d *Daemon) unreachable(ctx context.Context, err error) error {
	var why string
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("docker daemon %s: %w", d.Name, ctx.Err())
	case errors.Is(err, fs.ErrPermission):
		why = "permission denied on its socket: join the group that owns it (sudo usermod -aG docker $USER, then log in again), or use a rootless daemon"
	case errors.Is(err, context.DeadlineExceeded):
		why = "it does not answer in time: check its log (journalctl -u docker) and the connection to it"
	case d.Local():
		why = "no daemon listens there: start it (sudo systemctl start docker), or name another one with host, context or DOCKER_HOST"
	default:
		why = strings.TrimSpace(err.Error())
		if d.end.scheme() == "tcp" && d.end.tls == nil && plainRefused.MatchString(why) {
			why += "; if it requires TLS, use a context with its certificates, or set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH"
		}
	}
	return fmt.Errorf("cannot use docker daemon %s: %s%w", d.Name, why, quiet{errors.Join(ErrUnreachable, err)})
}

// quiet is a cause for errors.Is that adds nothing to the text.
type quiet struct{ error }

func (quiet) Error() string   { return "" }
func (q quiet) Unwrap() error { return q.error }

// Local reports whether the daemon's paths and loopback are this machine's, judging by
// its address.
func (d *Daemon) Local() bool { return d.end.scheme() == "unix" }

// Host is the daemon's address in DOCKER_HOST format.
func (d *Daemon) Host() string { return d.end.host }

// Context is the docker context that it came from, empty if its address was given.
func (d *Daemon) Context() string { return d.end.context }

// publishAt is the address where the daemon's machine binds a port that mxflow must
// reach: loopback if mxflow is on the same machine or uses a tunnel, else the one address
// by which the daemon itself is reached. An engine without an API key must not be open to
// every network.
func (d *Daemon) publishAt(ctx context.Context) (string, error) {
	const loopback = "127.0.0.1"
	u, err := url.Parse(d.end.host)
	if err != nil || d.end.scheme() != "tcp" || u.Hostname() == "" || u.Hostname() == "localhost" {
		return loopback, nil
	}
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil {
		return "", fmt.Errorf("docker daemon %s: its address is unknown: %w", d.Name, err)
	}
	if addrs[0].IP.IsLoopback() {
		return loopback, nil
	}
	return addrs[0].IP.String(), nil
}

// certificates reads those of ca.pem, cert.pem and key.pem that a folder has.
func certificates(folder string, skipVerify bool) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: skipVerify}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	switch {
	case err == nil:
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s contains no certificate", filepath.Join(folder, "ca.pem"))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	if _, err := os.Stat(cert); errors.Is(err, fs.ErrNotExist) {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate for the docker daemon: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
