package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Checker is an Instance whose end mxflow is not told of: it has to be asked.
type Checker interface {
	// Alive is nil while the server can be reached; else it says why not, and
	// Exited is closed from then on.
	Alive(ctx context.Context) error
}

// Alive implements Checker.
func (e *endpoint) Alive(ctx context.Context) error {
	path := "/v1/models"
	for _, p := range e.kind.Ready {
		if p.Body == "" && !p.Slow {
			path = p.Path
			break
		}
	}
	ctx, cancel := context.WithTimeout(ctx, firstTry)
	defer cancel()
	w := Waiter{Access: e.access, Limit: firstTry}
	a := w.ask(ctx, w.client(), Probe{}, path, firstTry)
	gone := a.status == 0
	switch a.status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		gone = true // what stands before it cannot reach it either
	}
	if !gone || errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	e.once.Do(func() { close(e.dead) })
	return fmt.Errorf("the server is gone: %s", a.says)
}
