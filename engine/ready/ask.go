package ready

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
)

const noAnswer = "none in time"

// answer is what came of asking once; status is 0 without an answer, and says
// describes it.
type answer struct {
	status     int
	body, says string
	// location is where a redirect leads, server how the server calls itself.
	location, server string
	// definite says that no answer will come, whatever the wait.
	definite bool
}

// readyBody is how much of an answer is looked at.
const readyBody = 64 << 10

func (w Waiter) ask(ctx context.Context, client *http.Client, probe kinds.Probe, path string, limit time.Duration) answer {
	if probe.Slow {
		limit = w.Limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	method, body := http.MethodGet, http.NoBody
	var send io.Reader = body
	if probe.Body != "" {
		method = http.MethodPost
		name, _ := json.Marshal(w.Model)
		send = strings.NewReader(strings.ReplaceAll(probe.Body, `"{model}"`, string(name)))
	}
	req, err := http.NewRequestWithContext(ctx, method, w.Access.BaseURL+path, send)
	if err != nil {
		return answer{says: err.Error()}
	}
	for name, values := range w.Access.Header {
		req.Header[name] = values
	}
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
	short := text[:min(len(text), 200)]
	if line := logscan.Clean([]byte(strings.Join(strings.Fields(string(short)), " "))); line != "" {
		a.says += ": " + line
	}
	return a
}

// client asks without a proxy, since HTTP_PROXY is for the world outside, and
// keeps no connection, so that measuring begins with none of ours open.
func (w Waiter) client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: w.Access.TLS},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Reach asks a page once. The status is 0 where no answer came in time; says
// describes what came, or why nothing did.
func Reach(ctx context.Context, access engine.Access, path string) (status int, says string) {
	ctx, cancel := context.WithTimeout(ctx, firstTry)
	defer cancel()
	w := Waiter{Access: access, Limit: firstTry}
	a := w.ask(ctx, w.client(), kinds.Probe{}, path, firstTry)
	return a.status, a.says
}
