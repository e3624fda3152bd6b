// Package docker launches engines in containers, as services of compose files, and as
// commands in running containers. It talks to the daemon of the docker command by docker's
// own client; compose and docker build stay commands, as their projects drive them. What a
// daemon refuses is known by the class of its error and by looking at what was asked for,
// never by its words. Everything started here has labels or marks, by which the sweeps find
// what a killed mxflow left behind. It knows neither plans nor an engine's answers once it
// is ready.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/client"
	"github.com/docker/go-connections/tlsconfig"
)

// callLimit bounds one request: a hanging daemon must not hang mxflow. Tests shorten it.
var callLimit = 30 * time.Second

const (
	// pullLimit bounds what may pull or build images, or runs a user's command.
	pullLimit = 2 * time.Hour
	// startLimit bounds the start of a container, which may wait for its GPUs.
	startLimit = 10 * time.Minute
	// killWait is how long something may take to end after SIGKILL.
	killWait = 30 * time.Second
)

// ErrUnreachable is wrapped by every error that means no daemon answers.
var ErrUnreachable = errors.New("cannot reach the docker daemon")

// daemon is a client of the daemon that the docker command would use.
type daemon struct {
	*client.Client
	endpoint
}

// endpoint is where a daemon listens.
type endpoint struct {
	host string
	// certs is the folder of ca.pem, cert.pem and key.pem; empty is no TLS. trusting takes
	// any certificate of the daemon.
	certs    string
	trusting bool
	// found is set for a socket that the docker command would not look for by itself.
	found bool
}

// findEndpoint resolves DOCKER_HOST, the context of DOCKER_CONTEXT or of docker's
// configuration, and the usual sockets, in the order of the docker command; podman's
// sockets come last.
func findEndpoint() (at endpoint, err error) {
	if at.host = os.Getenv("DOCKER_HOST"); at.host != "" {
		verify := os.Getenv("DOCKER_TLS_VERIFY") != ""
		if verify || os.Getenv("DOCKER_TLS") != "" {
			at.certs, at.trusting = os.Getenv("DOCKER_CERT_PATH"), !verify
			if at.certs == "" {
				at.certs = configHome()
			}
		}
		return at, nil
	}
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		name = readConfig().CurrentContext
	}
	if name != "" && name != "default" {
		return contextEndpoint(name)
	}
	at.host = client.DefaultDockerHost
	if _, err := os.Stat(strings.TrimPrefix(at.host, "unix://")); err == nil {
		return at, nil
	}
	for _, folder := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/run"} {
		socket := filepath.Join(folder, "podman/podman.sock")
		if _, err := os.Stat(socket); folder != "" && err == nil {
			return endpoint{host: "unix://" + socket, found: true}, nil
		}
	}
	return at, nil
}

// daemons are the clients of this process by endpoint: each keeps its connections and the
// version of the API that it negotiated.
var daemons sync.Map

// dial returns the client of the daemon, without asking it anything. The daemon must be on this
// machine, as mxflow watches the engine's port, files and memory here.
func dial() (*daemon, error) {
	at, err := findEndpoint()
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(at.host)
	near := []string{"", "localhost", "127.0.0.1", "::1"}
	schemes := []string{"unix", "npipe", "tcp"}
	if err != nil || !slices.Contains(schemes, to.Scheme) || !slices.Contains(near, to.Hostname()) {
		return nil, fmt.Errorf("the docker daemon %s is not on this machine: name one that is in DOCKER_HOST, "+
			"or run mxflow on that machine (executor \"ssh\" launches engines there, as processes)", at.host)
	}
	if d, ok := daemons.Load(at); ok {
		return d.(*daemon), nil
	}
	transport := &http.Transport{MaxIdleConns: 6, IdleConnTimeout: 30 * time.Second}
	if at.certs != "" {
		file := func(name string) string { return filepath.Join(at.certs, name) }
		secure, err := tlsconfig.Client(tlsconfig.Options{
			CAFile: file("ca.pem"), CertFile: file("cert.pem"), KeyFile: file("key.pem"),
			InsecureSkipVerify: at.trusting, ExclusiveRootPools: true,
		})
		if err != nil {
			return nil, fmt.Errorf("cannot use docker daemon %s: its TLS certificates: %w", at.host, err)
		}
		transport.TLSClientConfig = secure
	}
	c, err := client.NewClientWithOpts(
		client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}),
		client.WithHost(at.host), client.WithVersionFromEnv(), client.WithAPIVersionNegotiation(),
		client.WithHTTPHeaders(readConfig().HTTPHeaders), client.WithUserAgent("mxflow"),
	)
	if err != nil {
		return nil, fmt.Errorf("cannot use docker daemon %s: %w", at.host, err)
	}
	d, _ := daemons.LoadOrStore(at, &daemon{Client: c, endpoint: at})
	return d.(*daemon), nil
}

// connect returns the client of a daemon that answers.
func connect(ctx context.Context) (*daemon, error) {
	d, err := dial()
	if err == nil {
		_, err = ask(ctx, d, callLimit, d.Ping)
	}
	return d, err
}

// Connect returns the address of the daemon, if one answers there.
func Connect(ctx context.Context) (host string, err error) {
	at, _ := findEndpoint()
	_, err = connect(ctx)
	return at.host, err
}

// ask makes a request, which must end within limit.
func ask[T any](ctx context.Context, d *daemon, limit time.Duration, request func(context.Context) (T, error)) (T,
	error,
) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := request(limited)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case limited.Err() != nil:
		return answer, d.silent(limit)
	}
	return answer, d.explain(err)
}

// do is ask for a request without an answer.
func (d *daemon) do(ctx context.Context, limit time.Duration, request func(context.Context) error) error {
	_, err := ask(ctx, d, limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, request(ctx) })
	return err
}

// stream is an answer of the daemon that goes on until it ends or is closed.
type stream struct {
	io.Reader
	io.Closer
	// input is what a command in a container reads.
	input  types.HijackedResponse
	cancel context.CancelFunc
}

func (s *stream) Close() error {
	defer s.cancel()
	return s.Closer.Close()
}

// hijacked is a connection that became a stream in both directions.
func hijacked(answer types.HijackedResponse, err error) (*stream, error) {
	if err != nil {
		return nil, err
	}
	return &stream{Reader: answer.Reader, Closer: answer.Conn, input: answer}, nil
}

// open makes a request whose answer is a stream, which must begin within limit. A hijacked
// connection waits for its answer without a context, so it is waited for aside.
func open(ctx context.Context, d *daemon, limit time.Duration, request func(context.Context) (*stream, error)) (*stream,
	error,
) {
	type answer struct {
		stream *stream
		err    error
	}
	streaming, cancel := context.WithCancel(context.WithoutCancel(ctx))
	begun := make(chan answer, 1)
	go func() {
		s, err := request(streaming)
		if err == nil {
			s.cancel = cancel
		} else {
			cancel()
		}
		begun <- answer{s, err}
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	var err error
	select {
	case a := <-begun:
		if a.err != nil {
			return nil, d.explain(a.err)
		}
		return a.stream, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		err = d.silent(limit)
	}
	cancel()
	go func() {
		if a := <-begun; a.err == nil {
			a.stream.Close()
		}
	}()
	return nil, err
}

func (d *daemon) silent(limit time.Duration) error {
	return fmt.Errorf("docker daemon %s did not answer within %s%w", d.host, limit, quiet{ErrUnreachable})
}

// refusal is an error that the daemon gave; errdefs tells its class.
type refusal struct{ error }

func (r refusal) Error() string {
	return strings.TrimPrefix(strings.Join(strings.Fields(r.error.Error()), " "), "Error response from daemon: ")
}

func (r refusal) Unwrap() error { return r.error }

// explain tells a refusal of the daemon from a daemon that does not answer.
func (d *daemon) explain(err error) error {
	_, hasCause := errors.AsType[*url.Error](err)
	broken, isNet := errors.AsType[*net.OpError](err)
	var hint string
	switch {
	case errors.Is(err, fs.ErrPermission) && (isNet || client.IsErrConnectionFailed(err)):
		hint = "permission denied on its socket: join the group that owns it (sudo usermod -aG docker $USER, then " +
			"log in " +
			"again), or use a rootless daemon"
	case isNet && broken.Op == "dial", client.IsErrConnectionFailed(err) && !hasCause:
		hint = "no daemon listens there: start it (sudo systemctl start docker), or name another one in DOCKER_HOST"
	case isNet, client.IsErrConnectionFailed(err), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		hint = refusal{err}.Error() + "; if it requires TLS, set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH"
	default:
		return refusal{err}
	}
	return fmt.Errorf("cannot use docker daemon %s: %s%w", d.host, hint, quiet{errors.Join(ErrUnreachable, err)})
}

// quiet is a cause for errors.Is that adds nothing to the text.
type quiet struct{ error }

func (quiet) Error() string   { return "" }
func (q quiet) Unwrap() error { return q.error }

// isMissing reports whether the daemon does not have what it was asked about.
func isMissing(err error) bool { return errdefs.IsNotFound(err) }
