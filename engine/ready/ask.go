package ready

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
)

const noAnswer = "none in time"

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

// readyBody is how much of an answer is read, in bytes.
const readyBody = 1 << 20

func (w Waiter) ask(ctx context.Context, client *http.Client, probe kinds.Probe, path string, limit time.Duration) answer {
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
	resp, err := client.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return answer{says: noAnswer}
	case err != nil:
		says, definite := unreachable(err)
		return answer{says: says, definite: definite}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, readyBody))
	a := answer{status: resp.StatusCode, body: string(text), server: resp.Header.Get("Server")}
	if resp.StatusCode/100 == 3 {
		a.location = resp.Header.Get("Location")
	}
	a.says = fmt.Sprintf("%s to %s %s", resp.Status, method, req.URL.Path)
	if line := logscan.CleanTo(strings.Join(strings.Fields(string(text)), " "), 200); line != "" {
		a.says += ": " + line
	}
	return a
}

// client uses no proxy, since HTTP_PROXY is for the outside world, and keeps no
// connection open, so that measuring starts with none of ours.
func (w Waiter) client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: w.Access.TLS},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Reach requests a page once. The status is 0 if no answer came in time; says describes
// what came, or why nothing did.
func Reach(ctx context.Context, access engine.Access, path string) (status int, says string) {
	ctx, cancel := context.WithTimeout(ctx, firstTry)
	defer cancel()
	w := Waiter{Access: access, Limit: firstTry}
	a := w.ask(ctx, w.client(), kinds.Probe{}, path, firstTry)
	return a.status, a.says
}

// unreachable explains why a request brought no answer. definite is true if waiting
// cannot change that; then says names the cure.
func unreachable(err error) (says string, definite bool) {
	var (
		unknown  x509.UnknownAuthorityError
		host     x509.HostnameError
		invalid  x509.CertificateInvalidError
		dns      *net.DNSError
		notTLS   tls.RecordHeaderError
		timedOut net.Error
	)
	text := err.Error()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused", false
	case errors.As(err, &unknown):
		return "its certificate is signed by an unknown authority" + issuer(unknown.Cert) +
			": set ca_file to the authority's certificate, or insecure = true to skip the check", true
	case errors.As(err, &host):
		return "its certificate is for another host (" + certificateNames(host.Certificate) + "), not for " + host.Host +
			": use a host of the certificate in url", true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("its certificate is only valid from %s to %s: renew it, or correct this machine's clock",
			invalid.Cert.NotBefore.Format("2006-01-02"), invalid.Cert.NotAfter.Format("2006-01-02")), true
	case errors.As(err, &invalid):
		return "its certificate cannot be trusted: " + invalid.Error(), true
	case errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &notTLS):
		return "it speaks plain HTTP, not TLS: use http:// in url", true
	case strings.Contains(text, `malformed HTTP response "\x15\x03`):
		return "it speaks TLS, not plain HTTP: use https:// in url", true
	case strings.Contains(text, "malformed HTTP"):
		return "the server there does not speak HTTP: " + logscan.Clean(text), true
	case strings.Contains(text, "tls: certificate required"), strings.Contains(text, "tls: bad certificate"), strings.Contains(text, "tls: unknown certificate"):
		return "it requires a client certificate, which mxflow does not send: put a proxy in front that does", true
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("unknown host %q: correct the name in url, or check this machine's DNS", dns.Name), true
	case errors.As(err, &timedOut) && timedOut.Timeout():
		return noAnswer, false
	}
	return logscan.Clean(text), false
}

func issuer(c *x509.Certificate) string {
	if c == nil || c.Issuer.String() == "" {
		return ""
	}
	return " (" + logscan.Clean(c.Issuer.String()) + ")"
}

func certificateNames(c *x509.Certificate) string {
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		names = []string{c.Subject.CommonName}
	}
	return logscan.Clean(strings.Join(names, ", "))
}

// wrongAnswer describes what is definitely wrong with an answer; it is empty if waiting
// may help.
func (w Waiter) wrongAnswer(a answer) string {
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		return w.refused(a)
	case a.location != "":
		return fmt.Sprintf("it redirects to %s, which is not followed because it would be measured too: use that address in url", logscan.Clean(a.location))
	case a.status == http.StatusBadRequest && strings.Contains(a.body, "HTTPS"):
		return "it speaks TLS, not plain HTTP: use https:// in url"
	case a.status == http.StatusOK && a.html():
		return fmt.Sprintf("it answers with a web page%s, such as that of a proxy or login: correct the address", title(a.body))
	}
	return ""
}

// refused explains that the server rejects the key, or needs one.
func (w Waiter) refused(a answer) string {
	key := w.Key
	if key == "" {
		key = "flag that sets its key, because mxflow sends none to an engine that it starts"
	}
	if w.Access.Header.Get("Authorization") == "" {
		return fmt.Sprintf("it requires a key, but none was sent: check the %s (%s)", key, a.says)
	}
	return fmt.Sprintf("it refused the key: check the %s (%s)", key, a.says)
}

// html reports whether the answer is a web page, whatever its Content-Type.
func (a answer) html() bool {
	begin := strings.ToLower(strings.TrimSpace(a.body[:min(len(a.body), 256)]))
	return strings.HasPrefix(begin, "<!doctype html") || strings.HasPrefix(begin, "<html")
}

// title is a page's title in parentheses, empty if it has none.
func title(page string) string {
	low := strings.ToLower(page)
	from := strings.Index(low, "<title>")
	if from < 0 || len(low) != len(page) {
		return ""
	}
	text, _, found := strings.Cut(page[from+len("<title>"):], "<")
	if text = logscan.Clean(strings.Join(strings.Fields(text), " ")); !found || text == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", text)
}
