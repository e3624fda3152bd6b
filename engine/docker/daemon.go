// Package docker launches engines in containers: it finds the daemon as the docker
// command would, starts a container, follows its output into the launch's log and removes
// it. Everything it starts has labels, by which Sweep finds what a killed mxflow left
// behind. It knows neither plans nor an engine's answers once it is ready.
package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/client"
)

const (
	// answerLimit is how long a daemon may take to answer a ping.
	answerLimit = 10 * time.Second
	// oldest is the API of Docker 19.03, the first to support GPUs in containers.
	oldestMajor, oldestMinor = 1, 40
)

// ErrUnreachable is wrapped by every error that means no daemon answers.
var ErrUnreachable = errors.New("cannot reach the docker daemon")

// Daemon is a connected docker daemon. It is safe for concurrent use.
type Daemon struct {
	*client.Client
	// Name is its address, in the form of DOCKER_HOST.
	Name string
}

// daemons caches the clients made by Connect, by address: each keeps its connections, and
// a process uses few.
var daemons = struct {
	sync.Mutex
	by map[string]*Daemon
}{by: map[string]*Daemon{}}

// Connect finds the daemon that DOCKER_HOST names, with the certificates of
// DOCKER_CERT_PATH, or else the one at the default socket, and checks that it answers.
// The same daemon gives the same *Daemon, which is never closed.
func Connect(ctx context.Context) (*Daemon, error) {
	d, err := daemonAt(address())
	if err != nil {
		return nil, err
	}
	return d, d.check(ctx)
}

// address is where the daemon listens.
func address() string { return cmp.Or(os.Getenv(client.EnvOverrideHost), client.DefaultDockerHost) }

func daemonAt(host string) (*Daemon, error) {
	if s := schemeOf(host); s != "unix" && s != "tcp" {
		return nil, fmt.Errorf("%s %q is not the address of a docker daemon that can be used: write unix:///path or tcp://host:port", client.EnvOverrideHost, host)
	}
	daemons.Lock()
	defer daemons.Unlock()
	if d := daemons.by[host]; d != nil {
		return d, nil
	}
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fmt.Errorf("docker daemon %s: %w", host, err)
	}
	d := &Daemon{Client: c, Name: host}
	daemons.by[host] = d
	return d, nil
}

func schemeOf(host string) string {
	scheme, _, _ := strings.Cut(host, "://")
	return scheme
}

// check checks that the daemon answers and is recent enough.
func (d *Daemon) check(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if path, ok := strings.CutPrefix(d.Name, "unix://"); ok {
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
		why = "no daemon listens there: start it (sudo systemctl start docker), or name another one in DOCKER_HOST"
	default:
		why = strings.TrimSpace(err.Error())
		if os.Getenv(client.EnvOverrideCertPath) == "" && plainRefused.MatchString(why) {
			why += "; if it requires TLS, set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH"
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
func (d *Daemon) Local() bool { return schemeOf(d.Name) == "unix" }

// publishAt is the address where the daemon's machine binds a port that mxflow must
// reach: loopback if mxflow is on the same machine, else the one address by which the
// daemon itself is reached. An engine without an API key must not be open to
// every network.
func (d *Daemon) publishAt(ctx context.Context) (string, error) {
	const loopback = "127.0.0.1"
	u, err := url.Parse(d.Name)
	if err != nil || d.Local() || u.Hostname() == "" || u.Hostname() == "localhost" {
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
