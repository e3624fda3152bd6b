package embedded

// usage is the server's own count of tokens.
type usage struct {
	PromptTokens      int                `json:"prompt_tokens"`
	CompletionTokens  int                `json:"completion_tokens"`
	TotalTokens       int                `json:"total_tokens"`
	PromptDetails     promptDetails      `json:"prompt_tokens_details"`
	CompletionDetails *completionDetails `json:"completion_tokens_details,omitempty"`
}

// promptDetails has the tokens that were found in the prefix cache: none with
// the cache off.
type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// completionDetails is there where answers begin with reasoning.
type completionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// usage counts a request of which count tokens were generated.
func (g *generation) usage(cached, count int) *usage {
	u := &usage{
		PromptTokens: len(g.prompt), CompletionTokens: count, TotalTokens: len(g.prompt) + count,
		PromptDetails: promptDetails{cached},
	}
	if g.reasoning > 0 {
		u.CompletionDetails = &completionDetails{min(g.reasoning, count)}
	}
	return u
}

// completion is a response of either endpoint, whole or one stream event.
type completion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"` // Unix seconds
	Model   string       `json:"model"`
	Choices []onlyChoice `json:"choices"`
	Usage   *usage       `json:"usage,omitempty"`
}

// onlyChoice is the only choice of a response. Text belongs to completions,
// Message to whole chat responses and Delta to chat stream events.
type onlyChoice struct {
	Index        int     `json:"index"`
	Text         *string `json:"text,omitempty"`
	Message      *said   `json:"message,omitempty"`
	Delta        *said   `json:"delta,omitempty"`
	Logprobs     *int    `json:"logprobs"` // always null
	FinishReason *string `json:"finish_reason"`
}

type said struct {
	Role      string  `json:"role,omitempty"`
	Reasoning string  `json:"reasoning_content,omitempty"`
	Content   *string `json:"content,omitempty"`
}

// dialect is what differs between the two endpoints.
type dialect struct {
	idPrefix, whole, event string
	chat                   bool
}

var (
	textDialect = dialect{"cmpl-", "text_completion", "text_completion", false}
	chatDialect = dialect{"chatcmpl-", "chat.completion", "chat.completion.chunk", true}
)

func (d dialect) wholeChoice(reasoning, text, finish string) onlyChoice {
	if d.chat {
		return onlyChoice{Message: &said{Role: "assistant", Reasoning: reasoning, Content: &text}, FinishReason: &finish}
	}
	return onlyChoice{Text: &text, FinishReason: &finish}
}

// eventChoice is one piece of a stream. While there is reasoning only, chat
// events have no content, as vLLM's.
func (d dialect) eventChoice(p piece) onlyChoice {
	c := onlyChoice{Text: &p.text}
	if d.chat {
		c = onlyChoice{Delta: &said{Reasoning: p.reasoning, Content: &p.text}}
		if p.reasoning != "" && p.text == "" {
			c.Delta.Content = nil
		}
	}
	if p.finish != "" {
		c.FinishReason = &p.finish
	}
	return c
}

// roleChoice opens a chat stream.
func roleChoice() onlyChoice {
	empty := ""
	return onlyChoice{Delta: &said{Role: "assistant", Content: &empty}}
}
