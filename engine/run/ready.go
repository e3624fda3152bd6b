package run

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/httpclient"
)

const (
	// firstTry bounds one request to the readiness endpoint. Some engines generate a
	// token to answer it, and compile kernels for the first one: a request that times out
	// doubles the limit of the next, up to lastTry.
	firstTry = 2 * time.Second
	lastTry  = 30 * time.Second

	noAnswer = "none in time"
)

// Waiter waits for the readiness of an engine on behalf of its launcher.
type Waiter struct {
	Kind   kinds.Kind
	Model  string
	Access engine.Access
	// Lifetime is the engine's, and Limit how long its start may take.
	*engine.Lifetime
	Limit time.Duration
	// Settled means that the server is not being started, so there is no point in waiting
	// for a page that it does not know.
	Settled bool
	// Key names what to check if the server wants another key.
	Key string
	// PortUser is the Instance's (engine.Listener); nil if it is none. Activity is what its
	// processes do; nil if it was not started here.
	PortUser func() (who string, seen bool)
	Activity *Activity
	// Failure makes the error, including how the engine is doing.
	Failure func(op string, cause error, format string, args ...any) *engine.Failure
}

// Wait sends the probes of the kind, one after the other, until each got the expected
// answer, and notes the time since the start of one that was started. It fails at once if the
// engine ends, or for what waiting cannot cure. The error is an *engine.Failure.
func (w Waiter) Wait(ctx context.Context) error {
	waiting, cancel := context.WithDeadline(ctx, w.Started.Add(w.Limit))
	defer cancel()
	go func() { // the engine's end also ends a request in flight
		select {
		case <-w.Exited():
			cancel()
		case <-waiting.Done():
		}
	}()
	fail := func(why string) error { return w.Failure("become ready", nil, "%s", why) }
	try, last, fallback, identified := firstTry, "none", false, false
	asked := map[netip.AddrPort]time.Time{}
	for next := 0; next < len(w.Kind.Ready); {
		if w.PortUser != nil { // before anything is sent there
			if who, _ := w.PortUser(); who != "" {
				f := w.Failure("become ready", nil, "%s listens on its port but is not part of the engine", who)
				f.Class = kinds.Port
				return f
			}
		}
		probe := w.Kind.Ready[next]
		path := probe.Path
		if fallback {
			path = probe.Fallback
		}
		a := w.ask(waiting, probe, path, try)
		wrong := w.wrong(a)
		switch {
		case w.Exit() != nil:
		case wrong != "":
			return fail(wrong)
		case a.status == http.StatusOK && strings.Contains(a.body, probe.Contains):
			next, fallback, try = next+1, false, firstTry
			continue
		case a.status == http.StatusNotFound && probe.Fallback != "" && !fallback:
			fallback = true
			continue
		case slices.Contains(probe.Final, a.status):
			return fail(a.says + "; " + probe.Hint)
		case !identified && probe.Body == "" &&
			(a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed):
			identified = true
			if other := w.stranger(waiting); other != "" {
				return fail(other)
			}
			if w.Settled && waiting.Err() == nil {
				return fail(
					fmt.Sprintf("it lacks the readiness page of kind %s (%s): correct the path in url, or the kind",
						w.Kind.Name, a.says))
			}
		}
		if a.says == noAnswer {
			try = min(2*try, lastTry)
		}
		if waiting.Err() == nil {
			last = a.says
			if at := w.elsewhere(waiting, a, asked); at.IsValid() {
				f := w.Failure("become ready", nil, "it answers at %s, not at port %d", at, w.Activity.Port)
				f.Port, f.Elsewhere, f.Class = w.Activity.Port, at, kinds.Config
				return f
			}
		}
		// A fiftieth of the time waited so far, within bounds: the startup time is known to
		// about 2%.
		pause := min(max(time.Since(w.Started)/50, 5*time.Millisecond), 250*time.Millisecond)
		select {
		case <-w.Exited():
		case <-waiting.Done():
		case <-time.After(pause):
			continue
		}
		return w.notReady(ctx, last)
	}
	took := time.Since(w.Started)
	if len(w.Kind.Ready) > 0 {
		if other := w.stranger(waiting); other != "" && w.Exit() == nil {
			return fail(other)
		}
	}
	if !w.Settled {
		w.SetReady(took)
	}
	return nil
}

// notReady explains why waiting for readiness ended.
func (w Waiter) notReady(ctx context.Context, last string) error {
	after := engine.Brief(time.Since(w.Started))
	if exit := w.Exit(); exit != nil {
		hint := ""
		if exit.Signal == "SIGKILL" {
			hint = "; mxflow did not kill it: the kernel may have, for lack of memory (see dmesg), or the engine " +
				"itself after an error"
		}
		return w.Failure("become ready", nil, "it ended %s after its start, before it was ready%s", after, hint)
	}
	// The context's error is told apart by errors.Is.
	err, until := ctx.Err(), "its time limit was reached "+after+" after its start"
	switch {
	case errors.Is(err, context.Canceled):
		until = "waiting was cancelled " + after + " after its start"
	case err == nil:
		err, until = context.DeadlineExceeded, "it did not become ready within "+engine.Brief(w.Limit)
	}
	f := w.Failure("become ready", err, "%s; last answer: %s", until, last)
	if w.Activity != nil {
		f.Doing = w.Activity.Doing()
	}
	return f
}

// askAgain is when a listener may be asked again that did not answer as an engine does.
const askAgain = 30 * time.Second

// elsewhere is where the engine serves in place of its port: nothing of it listens there,
// and elsewhere it passes its readiness check and lists its models. An engine that loads
// is not asked, as it may have ports for metrics or for its ranks: only one that has been
// idle. Invalid if none is known for certain; asked is when each was asked.
func (w Waiter) elsewhere(ctx context.Context, last answer, asked map[netip.AddrPort]time.Time) (at netip.AddrPort) {
	if w.Activity == nil || last.status != 0 {
		return at
	}
	d := w.Activity.Doing()
	if d.Where() == "" || !d.Idle {
		return at
	}
	for _, at := range d.Elsewhere {
		host := w.Activity.host(at)
		if host == "" || time.Since(asked[at]) < askAgain {
			continue
		}
		asked[at] = time.Now()
		there := w
		there.Access.BaseURL = "http://" + host
		serves := true
		for _, p := range append(slices.Clone(w.Kind.Ready), kinds.Probe{Path: "/v1/models", Contains: `"id"`}) {
			if p.Body != "" || p.Slow || !serves {
				continue
			}
			a := there.ask(ctx, p, p.Path, firstTry)
			if a.status == http.StatusNotFound && p.Fallback != "" {
				a = there.ask(ctx, p, p.Fallback, firstTry)
			}
			serves = a.status == http.StatusOK && strings.Contains(a.body, p.Contains)
		}
		if serves {
			return at
		}
	}
	return netip.AddrPort{}
}

// answer is the outcome of one request; status is 0 if no answer came, and says describes
// the outcome.
type answer struct {
	status     int
	body, says string
	// location is the target of a redirect, server the name that the server gives itself.
	location, server string
	// definite means that no answer will come, however long the wait.
	definite bool
}

// ask sends a probe to a page, once.
func (w Waiter) ask(ctx context.Context, probe kinds.Probe, path string, limit time.Duration) answer {
	if probe.Slow {
		limit = w.Limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	method, send := http.MethodGet, io.Reader(http.NoBody)
	if probe.Body != "" {
		method = http.MethodPost
		name, _ := json.Marshal(w.Model)
		send = strings.NewReader(strings.ReplaceAll(probe.Body, `"{model}"`, string(name)))
	}
	req, err := http.NewRequestWithContext(ctx, method, w.Access.BaseURL+path, send)
	if err != nil {
		return answer{says: err.Error()}
	}
	maps.Copy(req.Header, w.Access.Header)
	if probe.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := httpclient.New(w.Access.TLS, 0).Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return answer{says: noAnswer}
	case err != nil:
		says, definite := unreachable(err)
		return answer{says: says, definite: definite}
	}
	defer resp.Body.Close()
	const most = 1 << 20
	text, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	a := answer{status: resp.StatusCode, body: string(text), server: resp.Header.Get("Server")}
	if resp.StatusCode/100 == 3 {
		a.location = resp.Header.Get("Location")
	}
	a.says = fmt.Sprintf("%s to %s %s", resp.Status, method, req.URL.Path)
	if line := foreign.CleanTo(strings.Join(strings.Fields(string(text)), " "), 200); line != "" {
		a.says += ": " + line
	}
	return a
}

// unreachable explains why a request brought no answer. definite is true if waiting
// cannot change that; then says names the cure.
func unreachable(err error) (says string, definite bool) {
	var (
		untrusted *tls.CertificateVerificationError
		notTLS    tls.RecordHeaderError
		dns       *net.DNSError
		timedOut  net.Error
	)
	text := foreign.Clean(err.Error())
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused", false
	case errors.As(err, &untrusted):
		return "its certificate cannot be trusted (" + foreign.Clean(untrusted.Err.Error()) +
			"): set ca_file to that " +
			"of its authority, or insecure to skip the check; use a host that it is for in url", true
	case errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &notTLS):
		return "it speaks plain HTTP, not TLS: use http:// in url", true
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "remote error: tls:"):
		return "the server there speaks another protocol, or wants a client certificate: " + text, true
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("unknown host %q: correct the name in url, or check this machine's DNS", dns.Name), true
	case errors.As(err, &timedOut) && timedOut.Timeout():
		return noAnswer, false
	}
	return text, false
}

// wrong is what is definitely wrong with an answer, or with the lack of one; it is empty if
// waiting may help.
func (w Waiter) wrong(a answer) string {
	start := strings.ToLower(strings.TrimSpace(a.body[:min(len(a.body), 256)]))
	switch {
	case a.definite:
		return a.says
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		what := "it refused the key"
		if w.Access.Header.Get("Authorization") == "" {
			what = "it requires a key, but none was sent"
		}
		key := cmp.Or(w.Key, "flag that sets its key, because mxflow sends none to an engine that it starts")
		return fmt.Sprintf("%s: check the %s (%s)", what, key, a.says)
	case a.location != "":
		return fmt.Sprintf("it redirects to %s, which is not followed because it would be measured too: use that "+
			"address in url", foreign.Clean(a.location))
	case a.status == http.StatusBadRequest && strings.Contains(a.body, "HTTPS"):
		return "it speaks TLS, not plain HTTP: use https:// in url"
	case a.status == http.StatusOK && (strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")):
		return "it answers with a web page, such as that of a proxy or login: correct the address"
	}
	return ""
}

// owners maps the "owned_by" in a server's list of models to the kind that writes it. Any
// other name says nothing: proxies and forks write their own.
var owners = map[string]string{
	"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "tensorrt_llm": "trtllm", "library": "ollama",
	"tabbyapi": "tabbyapi",
	"mxflow":   "embedded",
}

// identify is the kind that a server certainly is, with the evidence; empty if nothing
// shows it. wrong is a definite mistake in its answers. It requests only pages that cost
// an engine nothing.
func (w Waiter) identify(ctx context.Context) (kind, by, wrong string) {
	a := w.ask(ctx, kinds.Probe{}, "/v1/models", firstTry)
	if wrong := w.wrong(a); wrong != "" {
		return "", "", wrong
	}
	var list struct {
		Data []struct {
			OwnedBy string `json:"owned_by"`
		} `json:"data"`
	}
	if a.status == http.StatusOK && json.Unmarshal([]byte(a.body), &list) == nil && len(list.Data) > 0 {
		owner := list.Data[0].OwnedBy
		return owners[strings.ToLower(owner)], fmt.Sprintf("its models are owned_by %q", foreign.Clean(owner)), ""
	}
	if strings.HasPrefix(a.server, "llama.cpp") {
		return "llamacpp", "it calls itself llama.cpp", ""
	}
	if root := w.ask(ctx, kinds.Probe{}, "/", firstTry); strings.HasPrefix(root.body, "Ollama is running") {
		return "ollama", `it says "Ollama is running"`, ""
	}
	return "", "", ""
}

// stranger explains why the server cannot be the engine that the plan names; it is empty
// if it may be.
func (w Waiter) stranger(ctx context.Context) string {
	kind, by, wrong := w.identify(ctx)
	_, known := kinds.Lookup(w.Kind.Name) // else it is a kind of the plan's own
	if wrong != "" || kind == "" || kind == w.Kind.Name || w.Kind.Name == "openai" || !known {
		return wrong
	}
	return fmt.Sprintf("the engine there is of kind %s (%s), but the plan says %s: correct the kind, or the address",
		kind, by, w.Kind.Name)
}

// Recognise determines the kind of a running server. If nothing shows another kind, it is
// openai, of which nothing but the API is expected.
func Recognise(ctx context.Context, a engine.Access) kinds.Kind {
	w := Waiter{Access: a}
	name, _, _ := w.identify(ctx)
	if name == "" && strings.Contains(w.ask(ctx, kinds.Probe{}, "/openapi.json", firstTry).body, `"/load_model"`) {
		name = "transformers"
	}
	k, _ := kinds.Lookup(cmp.Or(name, "openai"))
	return k
}
