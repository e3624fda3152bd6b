package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/itchyny/gojq"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/httpclient"
)

const (
	// maxPage bounds a page or file that observations are taken from, in bytes.
	maxPage = 8 << 20
	// jqLimit bounds one jq expression: it works on what is in memory already.
	jqLimit = 2 * time.Second
)

// Page asks an engine for one page of its API, bounded in size and time.
func Page(ctx context.Context, access engine.Access, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, access.BaseURL+path, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, access.Header)
	resp, err := httpclient.New(access.TLS, 0).Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no answer within %s", engine.Brief(observeLimit))
		}
		return nil, errors.New(foreign.Clean(err.Error()))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if err != nil {
		return nil, fmt.Errorf("connection broken: %w", err)
	}
	if len(text) > maxPage {
		return nil, fmt.Errorf("it is larger than %d MiB", maxPage>>20)
	}
	return text, nil
}

// CompileJQ reads a jq expression; it sees no environment, no files and no
// further input. The names are of variables ("$tp") that it is run with.
func CompileJQ(expr string) (*gojq.Code, error) {
	query, err := gojq.Parse(expr)
	if err != nil {
		return nil, fmt.Errorf("jq %q: %w", expr, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("jq %q: %w", expr, err)
	}
	return code, nil
}

// RunJQ is the first result of a jq expression over decoded JSON; nil where it
// has none. It gets jqLimit.
func RunJQ(ctx context.Context, expr string, content any) (any, error) {
	code, err := CompileJQ(expr)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, jqLimit)
	defer cancel()
	value, ok := code.RunWithContext(within, content).Next()
	err, failed := value.(error)
	switch {
	case !ok:
		return nil, nil
	case !failed:
		return value, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx) // who asked gave up, and the expression is not to blame
	case within.Err() != nil:
		return nil, fmt.Errorf("jq %q did not end within %s", expr, engine.Brief(jqLimit))
	}
	return nil, fmt.Errorf("jq %q: %s", expr, foreign.Clean(err.Error()))
}
