package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mxflow/mxflow/engine/ready"
)

// Alive implements Checker.
func (e *endpoint) Alive(ctx context.Context) error {
	path := "/v1/models"
	for _, p := range e.kind.Ready {
		if p.Body == "" && !p.Slow {
			path = p.Path
			break
		}
	}
	status, says := ready.Reach(ctx, e.access, path)
	gone := status == 0
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		gone = true // what stands before it cannot reach it either
	}
	if !gone || errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	e.once.Do(func() { close(e.dead) })
	return fmt.Errorf("the server is gone: %s", says)
}
