package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// maxAnswer bounds what a call that does not stream reads.
	maxAnswer = 64 << 20
	// pageLimit bounds how long a page such as the list of models may take, and
	// countLimit one that counts tokens, of which a prompt may have a million.
	pageLimit, countLimit = time.Minute, 10 * time.Minute
	// maxName bounds the name of a model in bytes: some are paths of files.
	maxName = 4 << 10
)

// Model is one entry of the engine's list of models.
type Model struct {
	ID string
	// MaxLen is the most tokens that prompt and output may have together; 0
	// where the engine does not say.
	MaxLen int
}

// Models returns the models that the engine serves, at least one.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var answer struct {
		Data []struct {
			ID     string `json:"id"`
			MaxLen int    `json:"max_model_len"`
		} `json:"data"`
	}
	if err := c.call(ctx, http.MethodGet, "/v1/models", nil, &answer); err != nil {
		return nil, err
	}
	if len(answer.Data) == 0 || answer.Data[0].ID == "" {
		return nil, errors.New("GET /v1/models: the engine lists no model")
	}
	models := make([]Model, len(answer.Data))
	for i, m := range answer.Data {
		if err := checkName(m.ID); err != nil {
			return nil, fmt.Errorf("GET /v1/models: %w", err)
		}
		models[i] = Model{ID: m.ID, MaxLen: m.MaxLen}
	}
	return models, nil
}

// checkName refuses what is no name of a model or a version: it is shown on terminals and
// stands in tables and files.
func checkName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("a name of %d bytes, and %d are allowed: %s", len(name), maxName, quoted([]byte(name)))
	}
	if printable(name) != name || strings.ContainsAny(name, "\n\t") {
		return fmt.Errorf("a name with control characters, or that is no UTF-8: %s", quoted([]byte(name)))
	}
	return nil
}

// model is the name to ask for. An engine that keeps no list gets requests
// without a name.
func (c *Client) model(ctx context.Context) (string, error) {
	if c.Model != "" {
		return c.Model, nil
	}
	if name := c.listed.Load(); name != nil {
		return *name, nil
	}
	name := ""
	models, err := c.Models(ctx)
	var status *StatusError
	switch {
	case err == nil:
		name = models[0].ID
	case errors.As(err, &status) && status.Status == http.StatusNotFound:
	default:
		return "", fmt.Errorf("asking for the model's name: %w", err)
	}
	c.listed.Store(&name)
	return name, nil
}

// Version returns what the engine says its version is (GET /version).
func (c *Client) Version(ctx context.Context) (string, error) {
	var answer struct {
		Version string `json:"version"`
	}
	if err := c.call(ctx, http.MethodGet, "/version", nil, &answer); err != nil {
		return "", err
	}
	if answer.Version == "" {
		return "", errors.New("GET /version: the answer names no version")
	}
	if err := checkName(answer.Version); err != nil {
		return "", fmt.Errorf("GET /version: %w", err)
	}
	return answer.Version, nil
}

// Health returns the status of GET /health. The error is not nil only when
// there was no answer, as while an engine still loads.
func (c *Client) Health(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	req, err := c.newRequest(ctx, http.MethodGet, "/health", nil)
	if err != nil {
		return 0, err
	}
	resp, _, err := c.send(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxDrained))
	return resp.StatusCode, nil
}

// call makes one request that does not stream. The error is a *StatusError for
// an answer other than 200.
func (c *Client) call(ctx context.Context, method, path string, question, answer any) error {
	var payload []byte
	if question != nil {
		var err error
		if payload, err = json.Marshal(question); err != nil {
			return err
		}
	}
	said, _, err := c.ask(ctx, method, path, payload)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(said, answer); err != nil {
		return fmt.Errorf("%s %s: %w in %s", method, path, err, quoted(said))
	}
	return nil
}

// ask sends one request and returns the answer's body, and the time from the
// send to its end. A server that does not answer is given up after a limit of
// its own, since not every caller has one.
func (c *Client) ask(ctx context.Context, method, path string, payload []byte) (said []byte, took time.Duration, err error) {
	limit := pageLimit
	if payload != nil {
		limit = countLimit
	}
	tooLong := fmt.Errorf("no answer within %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLong)
	defer cancel()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), tooLong) {
			err = fmt.Errorf("%s %s: %w", method, path, tooLong)
		}
	}()
	req, err := c.newRequest(ctx, method, path, payload)
	if err != nil {
		return nil, 0, err
	}
	sent := time.Now()
	resp, _, err := c.send(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, 0, statusError(resp, path)
	}
	if err := checkEncoding(resp); err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	said, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	took = time.Since(sent)
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return said, took, nil
}
