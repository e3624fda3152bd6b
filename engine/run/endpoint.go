package run

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/internal/group"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Endpoints launches nothing: it finds a running server, after its restart command if the
// plan has one. It never stops it. The zero value is ready to use.
type Endpoints struct{}

// endpoint is an Instance that outlives its Stop.
type endpoint struct {
	// Lifetime has no startup of a server that was already running, and ends once Alive has found
	// the server gone: how is unknown.
	engine.Lifetime
	spec   engine.Spec
	kind   kinds.Kind
	access engine.Access
	gone   sync.Once
}

var (
	_ engine.Launcher = Endpoints{}
	_ engine.Checker  = (*endpoint)(nil)
)

func (Endpoints) Launch(ctx context.Context, spec engine.Spec, l engine.Launch) (engine.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, engine.StartFailure(err, "it was cancelled before it started")
	}
	if spec.Endpoint == nil {
		return nil, engine.StartFailure(nil, "the plan has no endpoint block for it")
	}
	if spec.ReadyTimeout <= 0 && len(spec.Endpoint.Restart) == 0 {
		spec.ReadyTimeout = time.Minute // it should have been there already
	}
	kind, failure := spec.Prepare()
	if failure != nil {
		return nil, failure
	}
	access, failure := accessOf(spec.Endpoint)
	if failure != nil {
		return nil, failure
	}
	e := &endpoint{spec: spec, kind: kind, access: access}
	e.Begin()
	if e.fresh() {
		if failure := restart(ctx, spec); failure != nil {
			return nil, failure
		}
	}
	return e, nil
}

// restart runs the command that restarts a server, and waits for its end. What it leaves
// running is the server and not mxflow's: it has no marks, is not swept, and its output
// goes to a file, not into a pipe, whose end would break it. The command gets the
// variant's environment.
func restart(ctx context.Context, spec engine.Spec) *engine.Failure {
	argv := spec.Endpoint.Restart
	if failure := checkDir(spec.Dir); failure != nil {
		return failure
	}
	own, err := spec.Environ(func(value string) string { return value })
	if err != nil {
		return engine.StartFailure(err, "%v", err)
	}
	env := append(Inherited(append([]string{envOwner, envLaunch, envPort}, spec.Unset...)), own...)
	path, failure := findProgram(argv[0], spec.Dir, env)
	if failure != nil {
		failure.Reason = "its restart command: " + failure.Reason
		return failure
	}
	said, err := os.CreateTemp("", "mxflow-restart-*")
	if err != nil {
		return engine.StartFailure(err, "cannot write the output of its restart command: %v", err)
	}
	defer os.Remove(said.Name()) // it may contain what the plan wants hidden
	defer said.Close()

	limited, cancel := context.WithTimeout(ctx, spec.ReadyTimeout)
	defer cancel()
	// If it does not return, half a restart must not go on behind the next launch.
	cmd := group.Command(limited, path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = argv, env, spec.Dir, said, said
	if err := cmd.Start(); err != nil {
		return explainStart(cmd, err)
	}
	if err = cmd.Wait(); err == nil {
		return nil
	}
	shown := strings.Join(argv, " ")
	f := engine.StartFailure(cmp.Or(ctx.Err(), err),
		"its restart command %q failed (%v): the state of the server is unknown", shown, err)
	if ctx.Err() == nil && limited.Err() != nil {
		f.Reason = fmt.Sprintf(
			"its restart command %q did not end within %s: it must return once the server is started, "+
				"and leave it running", shown, engine.Brief(spec.ReadyTimeout))
	}
	f.LogTail = logscan.Tail(said.Name(), engine.TailLines)
	return f
}

// fresh reports whether the launch started with a restart of the server.
func (e *endpoint) fresh() bool { return len(e.spec.Endpoint.Restart) > 0 }

func (e *endpoint) BaseURL() string { return e.access.BaseURL }

func (e *endpoint) Access() engine.Access { return e.access }

// About implements Instance. "fresh" is whether the launch is a start of its own: if it
// is "no", no comparison of launches can decide anything.
func (e *endpoint) About() map[string]string {
	about := map[string]string{"url": e.access.BaseURL, "fresh": "no"}
	if e.fresh() {
		about["fresh"] = "yes"
		about["restart"] = strings.Join(e.spec.Endpoint.Restart, " ")
	}
	if e.spec.Endpoint.Insecure {
		about["certificate"] = "not checked"
	}
	return about
}

// Output implements Instance: nothing can be run there.
func (e *endpoint) Output(context.Context, ...string) ([]byte, error) {
	return nil, engine.ErrElsewhere
}

func (e *endpoint) Ready(ctx context.Context) error {
	return Waiter{
		Kind: e.kind, Model: e.spec.Model, Access: e.access, Lifetime: &e.Lifetime, Limit: e.spec.ReadyTimeout,
		Failure: e.failure, Settled: !e.fresh(),
		Key: "api_key of its endpoint block and the variable that sets it",
	}.Wait(ctx)
}

// PeakMemory implements Instance; the memory of another machine is unknown.
func (e *endpoint) PeakMemory() int64 { return 0 }

// LogPath implements Instance: the server's log is its owner's.
func (e *endpoint) LogPath() string { return "" }

// Stop implements Instance: the server continues.
func (e *endpoint) Stop(context.Context) error { return nil }

func (e *endpoint) failure(op string, cause error, format string, args ...any) *engine.Failure {
	return &engine.Failure{Op: op, Reason: fmt.Sprintf(format, args...) + " (" + e.access.BaseURL + ")", Err: cause}
}

func (e *endpoint) Alive(ctx context.Context) error {
	path := "/v1/models"
	for _, p := range e.kind.Ready {
		if p.Body == "" && !p.Slow {
			path = p.Path
			break
		}
	}
	a := Waiter{Access: e.access}.ask(ctx, kinds.Probe{}, path, firstTry)
	switch a.status {
	case 0, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		// a proxy cannot reach it either
	default:
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	e.gone.Do(func() { e.End(engine.Exit{Code: -1}) })
	return fmt.Errorf("the server no longer answers: %s", a.says)
}

// CheckURL is what is wrong with an endpoint's address, and how to fix it; nil if it is
// usable.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a URL: write one such as \"https://box.example:8000/v1\"", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q does not start with http:// or https://", text)
	case u.Hostname() == "":
		return fmt.Errorf("%q has no host", text)
	case u.User != nil:
		return errors.New("a URL with a user or password would end up in logs: put the key into api_key, or Basic " +
			"authentication into headers")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf(
			"%q has a query or a fragment, but paths are appended to it: remove everything from ? or # on", text)
	}
	for _, page := range []string{"/completions", "/models", "/health"} {
		if strings.HasSuffix(strings.TrimRight(u.Path, "/"), page) {
			return fmt.Errorf("%q is a single page: use the base address, such as %q", text,
				u.Scheme+"://"+u.Host+"/v1")
		}
	}
	return nil
}

// notSent are headers that the HTTP client sets itself, or that would change how an
// answer is framed.
var notSent = []string{
	"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Accept",
	"Accept-Encoding",
}

// CheckHeader is why a header cannot be sent with every request.
func CheckHeader(name, value string) error {
	token := func(r rune) bool { return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }
	switch {
	case name == "" || strings.IndexFunc(name, func(r rune) bool { return !token(r) }) >= 0:
		return fmt.Errorf("%q is not a valid header name", name)
	case slices.Contains(notSent, http.CanonicalHeaderKey(name)):
		return fmt.Errorf("the header %s is set by mxflow itself", name)
	}
	return CheckKey(value)
}

// CheckKey is why a text cannot be the value of a header. It does not repeat the text,
// which may be a secret.
func CheckKey(value string) error {
	switch {
	case strings.TrimSpace(value) != value:
		return errors.New("it starts or ends with white space, as text from a file often does: use trimspace(file(…))")
	case strings.IndexFunc(value, unicode.IsControl) >= 0:
		return errors.New("it contains a control character, which headers cannot have")
	}
	return nil
}

// accessOf is how requests reach an endpoint.
func accessOf(e *engine.Endpoint) (engine.Access, *engine.Failure) {
	if err := CheckURL(e.URL); err != nil {
		return engine.Access{}, engine.StartFailure(err, "its url is invalid: %v", err)
	}
	base := strings.TrimRight(e.URL, "/")
	a := engine.Access{BaseURL: strings.TrimRight(strings.TrimSuffix(base, "/v1"), "/"), Header: http.Header{}}
	for name, value := range sorted.All(e.Headers) {
		if err := CheckHeader(name, value); err != nil {
			return a, engine.StartFailure(err, "its header %q is invalid: %v", name, err)
		}
		a.Header.Set(name, value)
	}
	if e.APIKey != "" {
		if err := CheckKey(e.APIKey); err != nil {
			return a, engine.StartFailure(err, "its api_key is invalid: %v", err)
		}
		a.Header.Set("Authorization", "Bearer "+e.APIKey)
	}
	if e.CAFile == "" && !e.Insecure {
		return a, nil
	}
	a.TLS = &tls.Config{InsecureSkipVerify: e.Insecure, MinVersion: tls.VersionTLS12}
	if e.CAFile != "" {
		pem, err := os.ReadFile(e.CAFile)
		if err != nil {
			return a, engine.StartFailure(err, "cannot read its ca_file: %v", err)
		}
		if a.TLS.RootCAs, err = x509.SystemCertPool(); err != nil {
			a.TLS.RootCAs = x509.NewCertPool()
		}
		if !a.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return a, engine.StartFailure(nil,
				"its ca_file %q contains no PEM certificate (-----BEGIN CERTIFICATE-----)", e.CAFile)
		}
	}
	return a, nil
}
