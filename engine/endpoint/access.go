package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/mxflow/mxflow/engine"
)

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
		return errors.New("a URL with a user or password would end up in logs: put the key into api_key, or Basic authentication into headers")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q has a query or a fragment, but paths are appended to it: remove everything from ? or # on", text)
	}
	for _, page := range []string{"/completions", "/models", "/health"} {
		if strings.HasSuffix(strings.TrimRight(u.Path, "/"), page) {
			return fmt.Errorf("%q is a single page: use the base address, such as %q", text, u.Scheme+"://"+u.Host+"/v1")
		}
	}
	return nil
}

// notSent are headers that the HTTP client sets itself, or that would change how an
// answer is framed.
var notSent = []string{"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Accept", "Accept-Encoding"}

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
	for name, value := range e.Headers {
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
	var failure *engine.Failure
	a.TLS, failure = tlsOf(e)
	return a, failure
}

// tlsOf is nil if the system's own trust is enough.
func tlsOf(e *engine.Endpoint) (*tls.Config, *engine.Failure) {
	if e.CAFile == "" && !e.Insecure {
		return nil, nil
	}
	c := &tls.Config{InsecureSkipVerify: e.Insecure, MinVersion: tls.VersionTLS12}
	if e.CAFile != "" {
		pem, err := os.ReadFile(e.CAFile)
		if err != nil {
			return nil, engine.StartFailure(err, "cannot read its ca_file: %v", err)
		}
		if c.RootCAs, err = x509.SystemCertPool(); err != nil {
			c.RootCAs = x509.NewCertPool()
		}
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, engine.StartFailure(nil, "its ca_file %q contains no PEM certificate (-----BEGIN CERTIFICATE-----)", e.CAFile)
		}
	}
	return c, nil
}
