package openai

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/internal/foreign"
)

// LogProbs is how an engine is asked for log-probabilities beyond the common API.
type LogProbs struct {
	// AskIDs asks for token ids instead of texts: return_tokens_as_token_ids and
	// return_token_ids, which vLLM has.
	AskIDs bool
	// Prompt is how those of a prompt are requested: "prompt_logprobs" (vLLM), "echo"
	// (the prompt before the answer, in completions), or empty.
	Prompt string
}

// impossible is at or above what engines write for a probability of 0: vLLM -9999, as
// JSON has no infinity, llama-server the smallest 32-bit number.
const impossible = -9999

// What can be wrong with the log-probabilities of an answer.
var (
	// errNoLogProbs: they were requested but did not come.
	errNoLogProbs = errors.New("no log-probabilities")
	// errUneven: there are more positions than tokens, or lists of one answer differ in
	// length.
	errUneven = errors.New("log-probabilities do not match the tokens")
	// errTooMany: a position lists more than requested.
	errTooMany = errors.New("more alternatives than requested")
	// errUnreadable: the answer has no known form.
	errUnreadable = errors.New("unreadable answer")
)

// Answer sends one request that does not stream and returns its tokens with their
// log-probabilities. The error is a *StatusError for an answer other than 200, a
// *StallError for the time limit, or says what the answer lacks.
func (c *Client) Answer(ctx context.Context, r Request) (answers.Answer, error) {
	model, err := c.model(ctx)
	if err != nil {
		return answers.Answer{}, err
	}
	path, err := r.API.path()
	if err != nil {
		return answers.Answer{}, err
	}
	if r.PromptLogProbs && (c.LogProbs.Prompt == "" || c.LogProbs.Prompt == "echo" && r.API == Chat) {
		return answers.Answer{}, fmt.Errorf("%w of the prompt: this engine has none at %s", errNoLogProbs, path)
	}
	payload, err := c.encode(r, append(r.members(model), r.logProbMembers(c.LogProbs)...))
	if err != nil {
		return answers.Answer{}, err
	}
	if limit := r.Timeouts.Total; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, &StallError{Waiting: "the whole answer", Limit: limit})
		defer stop()
	}
	said, err := c.ask(ctx, http.MethodPost, path, payload, countLimit)
	if err != nil {
		if stalled, ok := errors.AsType[*StallError](context.Cause(ctx)); ok {
			return answers.Answer{}, stalled
		}
		return answers.Answer{}, err
	}
	answer, err := readAnswer(said, r, c.LogProbs)
	if err != nil {
		return answer, fmt.Errorf("POST %s: %w", path, err)
	}
	answer.Asked, err = r.digest()
	return answer, err
}

// logProbMembers are the members of a request for a whole answer.
func (r Request) logProbMembers(how LogProbs) []member {
	chat, wanted := r.API == Chat, r.LogProbs > 0
	var asked any = r.LogProbs
	if chat {
		asked = true
	}
	return []member{
		{"stream", false, true},
		{"logprobs", asked, wanted},
		{"top_logprobs", r.LogProbs, wanted && chat},
		{"prompt_logprobs", r.LogProbs, r.PromptLogProbs && how.Prompt == "prompt_logprobs"},
		{"echo", true, r.PromptLogProbs && how.Prompt == "echo"},
		{"return_tokens_as_token_ids", true, wanted && how.AskIDs},
		{"return_token_ids", true, wanted && how.AskIDs},
	}
}

// digest identifies a request, whatever the model's name and the number of
// log-probabilities.
func (r Request) digest() (string, error) {
	var plain Client
	text, err := plain.encode(r, append(r.members(""), member{"", r.API == Chat, true}))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), nil
}

// wholeAnswer is an answer that does not stream, in the forms that engines use.
type wholeAnswer struct {
	Choices []struct {
		Text    string `json:"text"`
		Message struct {
			Content          string `json:"content"`
			Reasoning        string `json:"reasoning"`
			ReasoningContent string `json:"reasoning_content"`
		} `json:"message"`
		Finish   string          `json:"finish_reason"`
		LogProbs *answerLogProbs `json:"logprobs"`
		promptTokens
	} `json:"choices"`
	promptTokens // of a chat with vLLM
	Usage        struct {
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
	} `json:"usage"`
}

// answerLogProbs are the log-probabilities of an answer: one object per token, as in all
// chats and everywhere in llama-server and Ollama, or parallel lists.
type answerLogProbs struct {
	Content []answerToken `json:"content"`

	Tokens        []string                 `json:"tokens"`
	TokenLogProbs []answers.Value          `json:"token_logprobs"`
	TopLogProbs   []ordered[answers.Value] `json:"top_logprobs"`
}

type answerToken struct {
	Token   string        `json:"token"`
	ID      *int          `json:"id"` // llama-server
	Bytes   []int         `json:"bytes"`
	LogProb answers.Value `json:"logprob"`
	Top     []answerToken `json:"top_logprobs"`
}

// promptTokens are the log-probabilities of a prompt, in vLLM's form: by token id, the
// actual token first.
type promptTokens struct {
	PromptLogProbs []ordered[promptToken] `json:"prompt_logprobs"`
	PromptTokenIDs []int                  `json:"prompt_token_ids"`
}

type promptToken struct {
	LogProb answers.Value `json:"logprob"`
	Text    string        `json:"decoded_token"`
}

// ordered is a JSON object whose order matters; null is nil.
type ordered[T any] []field[T]

type field[T any] struct {
	name  string
	value T
}

func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	*o = nil
	d := json.NewDecoder(bytes.NewReader(text))
	switch start, err := d.Token(); {
	case err != nil:
		return err
	case start == nil:
		return nil
	case start != json.Delim('{'):
		return fmt.Errorf("%s instead of an object", foreign.Quote(text))
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		f := field[T]{name: name.(string)} // the key before a colon
		if err := d.Decode(&f.value); err != nil {
			return err
		}
		*o = append(*o, f)
	}
	return nil
}

// readAnswer extracts tokens and log-probabilities from an answer to a request.
func readAnswer(said []byte, r Request, how LogProbs) (answers.Answer, error) {
	var whole wholeAnswer
	err := json.Unmarshal(said, &whole)
	if err != nil {
		return answers.Answer{}, fmt.Errorf("%w: %w in %s", errUnreadable, err, foreign.Quote(said))
	}
	if len(whole.Choices) == 0 {
		if words, ok := failureIn(said); ok {
			return answers.Answer{}, fmt.Errorf("%w: the engine reports %s", errUnreadable, foreign.Quote(words))
		}
		return answers.Answer{}, fmt.Errorf("%w: no choice in %s", errUnreadable, foreign.Quote(said))
	}
	choice := whole.Choices[0]
	reasoning := cmp.Or(choice.Message.ReasoningContent, choice.Message.Reasoning)
	answer := answers.Answer{Text: choice.Text + reasoning + choice.Message.Content, End: choice.Finish}
	if r.LogProbs > 0 {
		if choice.LogProbs == nil {
			return answer, fmt.Errorf("%w of the answer", errNoLogProbs)
		}
		if answer.Tokens, err = choice.LogProbs.read(r.LogProbs); err != nil {
			return answer, err
		}
	}
	switch {
	case !r.PromptLogProbs:
	case how.Prompt == "echo":
		n := whole.Usage.Prompt
		if n == nil || *n < 1 || *n > len(answer.Tokens) {
			return answer, fmt.Errorf("%w of the prompt: the answer does not start with its tokens", errNoLogProbs)
		}
		answer.Prompt, answer.Tokens = answer.Tokens[:*n:*n], answer.Tokens[*n:]
		answer.Text = strings.TrimPrefix(answer.Text, r.Prompt)
	default:
		from := choice.promptTokens
		if from.PromptLogProbs == nil {
			from.PromptLogProbs = whole.PromptLogProbs
		}
		if from.PromptTokenIDs == nil {
			from.PromptTokenIDs = whole.PromptTokenIDs
		}
		if answer.Prompt, err = from.read(r.LogProbs); err != nil {
			return answer, err
		}
	}
	if counted := whole.Usage.Completion; counted != nil && r.LogProbs > 0 {
		if *counted < len(answer.Tokens) {
			return answer, fmt.Errorf("%w of the answer: %d positions, but %d tokens counted", errUneven,
				len(answer.Tokens), *counted)
		}
		answer.Unlisted = *counted - len(answer.Tokens)
	}
	if answer.Text != "" && r.LogProbs > 0 && len(answer.Tokens) == 0 {
		return answer, fmt.Errorf("%w of the answer: a text without positions", errNoLogProbs)
	}
	return answer, nil
}

// read returns one token per position, with as many alternatives as requested, and the
// token itself if it is not among them.
func (s *answerLogProbs) read(asked int) ([]answers.Token, error) {
	if s.Content == nil {
		if len(s.TokenLogProbs) != len(s.Tokens) || s.TopLogProbs != nil && len(s.TopLogProbs) != len(s.Tokens) {
			return nil, fmt.Errorf("%w of the answer: %d tokens, %d token_logprobs, %d top_logprobs",
				errUneven, len(s.Tokens), len(s.TokenLogProbs), len(s.TopLogProbs))
		}
		s.Content = make([]answerToken, len(s.Tokens))
		for i, name := range s.Tokens {
			s.Content[i] = answerToken{Token: name, LogProb: s.TokenLogProbs[i]}
			if s.TopLogProbs == nil {
				continue
			}
			for _, other := range s.TopLogProbs[i] {
				s.Content[i].Top = append(s.Content[i].Top, answerToken{Token: other.name, LogProb: other.value})
			}
		}
	}
	tokens := make([]answers.Token, len(s.Content))
	for i, said := range s.Content {
		if err := fewEnough(len(said.Top), asked, i); err != nil {
			return nil, err
		}
		tokens[i].Text, tokens[i].ID = said.name()
		tokens[i].LogProb = possible(said.LogProb)
		for _, other := range said.Top {
			text, id := other.name()
			tokens[i].Top = append(tokens[i].Top,
				answers.Alternative{Text: text, ID: id, LogProb: possible(other.LogProb)})
		}
	}
	return tokens, nil
}

// read returns one token per position of the prompt; the first has no log-probability.
func (s *promptTokens) read(asked int) ([]answers.Token, error) {
	if len(s.PromptLogProbs) == 0 {
		return nil, fmt.Errorf("%w of the prompt", errNoLogProbs)
	}
	if s.PromptTokenIDs != nil && len(s.PromptTokenIDs) != len(s.PromptLogProbs) {
		return nil, fmt.Errorf("%w of the prompt: %d positions, but %d tokens", errUneven, len(s.PromptLogProbs),
			len(s.PromptTokenIDs))
	}
	tokens := make([]answers.Token, len(s.PromptLogProbs))
	for i, said := range s.PromptLogProbs {
		if err := fewEnough(len(said), asked, i); err != nil {
			return nil, err
		}
		t := &tokens[i]
		t.ID = -1
		if s.PromptTokenIDs != nil {
			t.ID = s.PromptTokenIDs[i]
		}
		for at, other := range said {
			id, err := strconv.Atoi(other.name)
			if err != nil || id < 0 {
				return nil, fmt.Errorf("%w: position %d of prompt_logprobs has token %s, which is not an ID",
					errUnreadable, i+1, foreign.Quote(other.name))
			}
			if at == 0 && s.PromptTokenIDs == nil {
				t.ID = id
			}
			a := answers.Alternative{Text: other.value.Text, ID: id, LogProb: possible(other.value.LogProb)}
			if id == t.ID {
				t.Text, t.LogProb = a.Text, a.LogProb
			}
			t.Top = append(t.Top, a)
		}
	}
	return tokens, nil
}

// fewEnough rejects a list that no engine makes: alternatives as requested, and the token
// itself if it is not among them.
func fewEnough(n, asked, position int) error {
	if n > asked+1 {
		return fmt.Errorf("%w: %d at position %d, requested %d", errTooMany, n, position+1, asked)
	}
	return nil
}

// possible is a log-probability, unless the number stands for a probability of 0.
func possible(v answers.Value) answers.Value {
	if n, given := v.Number(); given && n <= impossible {
		return answers.Of(math.Inf(-1))
	}
	return v
}

// name is the token's text and id, of which engines write one or the other. Part of a
// character, which the text cannot show, is spelled by its bytes.
func (t answerToken) name() (text string, id int) {
	text, id = t.Token, -1
	if digits, ok := strings.CutPrefix(text, "token_id:"); ok {
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 {
			text, id = "", n
		}
	}
	if t.ID != nil && *t.ID >= 0 {
		id = *t.ID
	}
	if !strings.ContainsRune(text, utf8.RuneError) || len(t.Bytes) == 0 {
		return text, id
	}
	spelled := []byte("bytes:")
	for _, b := range t.Bytes {
		if b < 0 || b > 0xff {
			return text, id
		}
		spelled = fmt.Appendf(spelled, `\x%02x`, b)
	}
	return string(spelled), id
}
