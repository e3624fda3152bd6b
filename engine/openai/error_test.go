package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestStatusError(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"prompt too long"}`+"\x1b[31m"+strings.Repeat(" more", 1000), http.StatusBadRequest)
	})
	_, err := c.Stream(t.Context(), Request{Prompt: "x"})
	var status *StatusError
	if !errors.As(err, &status) || status.Status != 400 || !strings.HasPrefix(status.Body, `{"error":"prompt too long"}`) || len(status.Body) > maxStatusBody+8 || strings.Contains(status.Body, "\x1b") {
		t.Fatalf("error %v", err)
	}
	if usage := c.usage.Load(); usage != 0 {
		t.Errorf("an unrelated refusal lowered the usage mode to %v", usage)
	}
}

// A redirect is not followed, neither by a stream nor by a call, and the error
// says where it points.
func TestRedirect(t *testing.T) {
	asked := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "https://elsewhere.example/v1", http.StatusTemporaryRedirect)
	})
	_, err := c.Stream(t.Context(), Request{Prompt: "x"})
	_, callErr := c.Models(t.Context())
	for _, err := range []error{err, callErr} {
		var status *StatusError
		if !errors.As(err, &status) || status.Status != 307 || !strings.HasPrefix(status.Location, "https://elsewhere.example/v1") {
			t.Fatalf("redirect gave %v", err)
		}
		if !strings.Contains(err.Error(), `a redirect to "https://elsewhere.example/v1`) {
			t.Errorf("message %q", err)
		}
	}
	if asked != 2 {
		t.Errorf("%d requests", asked)
	}
}

func TestRetryAfter(t *testing.T) {
	for after, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, " 3 ": 3 * time.Second, "0": minRetryAfter, "600": maxRetryAfter, "601": maxRetryAfter,
		"99999999999999999999999999": maxRetryAfter, "-1": 0, "1.5": 0, "soon": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {after}}); got != want {
			t.Errorf("%q: %v, want %v", after, got, want)
		}
	}

	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2")
		http.Error(w, "busy", http.StatusTooManyRequests)
	})
	s, err := c.Stream(t.Context(), Request{Prompt: "x"})
	var status *StatusError
	if s.Status != http.StatusTooManyRequests || s.Err == "" {
		t.Errorf("sample %+v", s)
	}
	if !errors.As(err, &status) || status.RetryAfter != 2*time.Second || !strings.Contains(err.Error(), "try again in 2s") {
		t.Errorf("error %v", err)
	}
}

func TestCallThatWasCompressed(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("Accept-Encoding: %q", got)
		}
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "\x01\x02")
	})
	var broken *StreamError
	if _, err := c.Models(t.Context()); !errors.As(err, &broken) || broken.Kind != Compressed || !strings.Contains(err.Error(), `"br"`) {
		t.Errorf("error %v", err)
	}
}

// A limit of this machine is reported as one.
func TestTooManyOpenFiles(t *testing.T) {
	if said := hint(errors.New("dial tcp: socket: too many open files")); !strings.Contains(said, "ulimit -n") {
		t.Errorf("hint %q", said)
	}
}
