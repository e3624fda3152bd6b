package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Tokenizer is a page that counts the tokens of a text.
type Tokenizer struct {
	// Path of the page, and Field where the text goes in the question.
	Path, Field string
	// Count takes the number out of the decoded answer; nil looks for the members
	// count and tokens.
	Count func(ctx context.Context, answer any) (int, error)
}

// No vocabulary has more tokens for a byte than perByte, nor more than around them
// for what begins and ends a text. Prompts are grown until their count is right,
// so that a count that is made up would have them grow without end.
const perByte, around = 4, 1024

// Tokenize returns the token ids of a text as the engine's completions endpoint
// would see it, special tokens included, and their number. The error is a
// *StatusError with status 404 where the engine has no such endpoint.
func (c *Client) Tokenize(ctx context.Context, text string) (count int, ids []int, err error) {
	model, err := c.model(ctx)
	if err != nil {
		return 0, nil, err
	}
	// The first three are the words of vLLM and SGLang, the last two those of
	// llama-server; each ignores the other's.
	question := map[string]any{
		"prompt": text, "add_special_tokens": true,
		"content": text, "add_special": true,
	}
	path := "/tokenize"
	if c.Tokenizer.Path != "" {
		path = c.Tokenizer.Path
	}
	if c.Tokenizer.Field != "" {
		question[c.Tokenizer.Field] = text
	}
	if model != "" {
		question["model"] = model
	}
	var answer json.RawMessage
	if err := c.call(ctx, http.MethodPost, path, question, &answer); err != nil {
		return 0, nil, err
	}
	if count, ids, err = c.counted(ctx, answer); err != nil {
		return 0, nil, fmt.Errorf("POST %s: %w", path, err)
	}
	switch {
	case count == 0 && text != "":
		return 0, nil, fmt.Errorf("POST %s: no tokens for a text that is not empty", path)
	case count < 0 || count > perByte*len(text)+around:
		return 0, nil, fmt.Errorf("POST %s: %d tokens for a text of %d bytes", path, count, len(text))
	}
	return count, ids, nil
}

// counted is the number of tokens that an answer gives, and the tokens where it
// lists them.
func (c *Client) counted(ctx context.Context, text []byte) (count int, ids []int, err error) {
	var answer struct {
		Count  *int  `json:"count"`
		Tokens []int `json:"tokens"`
	}
	wrong := json.Unmarshal(text, &answer)
	if c.Tokenizer.Count == nil {
		count = len(answer.Tokens)
		if answer.Count != nil && count == 0 {
			count = *answer.Count
		}
		if answer.Count != nil && *answer.Count != count {
			return 0, nil, fmt.Errorf("a count of %d beside %d tokens", *answer.Count, count)
		}
		if wrong != nil {
			return 0, nil, fmt.Errorf("%w in %s", wrong, quoted(text))
		}
		return count, answer.Tokens, nil
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		return 0, nil, fmt.Errorf("%w in %s", err, quoted(text))
	}
	if wrong != nil {
		answer.Tokens = nil // tokens of another form than numbers
	}
	count, err = c.Tokenizer.Count(ctx, whole)
	return count, answer.Tokens, err
}

// Detokenize returns the text of token ids.
func (c *Client) Detokenize(ctx context.Context, ids []int) (string, error) {
	model, err := c.model(ctx)
	if err != nil {
		return "", err
	}
	question := map[string]any{"tokens": ids}
	if model != "" {
		question["model"] = model
	}
	var answer struct {
		Prompt  *string `json:"prompt"`  // vLLM
		Text    *string `json:"text"`    // SGLang
		Content *string `json:"content"` // llama-server
	}
	if err := c.call(ctx, http.MethodPost, "/detokenize", question, &answer); err != nil {
		return "", err
	}
	for _, text := range []*string{answer.Prompt, answer.Text, answer.Content} {
		if text != nil {
			return *text, nil
		}
	}
	return "", errors.New("POST /detokenize: the answer holds no text")
}
