package embedded

// usage is the server's own count of tokens. Nothing is ever cached between
// requests, and cachedTokens says so.
type usage struct {
	PromptTokens     int           `json:"prompt_tokens"`
	CompletionTokens int           `json:"completion_tokens"`
	TotalTokens      int           `json:"total_tokens"`
	PromptDetails    promptDetails `json:"prompt_tokens_details"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

func newUsage(prompt, completion int) *usage {
	return &usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}
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
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
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

func (d dialect) wholeChoice(text, finish string) onlyChoice {
	if d.chat {
		return onlyChoice{Message: &said{Role: "assistant", Content: &text}, FinishReason: &finish}
	}
	return onlyChoice{Text: &text, FinishReason: &finish}
}

func (d dialect) eventChoice(text, finish string) onlyChoice {
	c := onlyChoice{Text: &text}
	if d.chat {
		c = onlyChoice{Delta: &said{Content: &text}}
	}
	if finish != "" {
		c.FinishReason = &finish
	}
	return c
}

// roleChoice opens a chat stream.
func roleChoice() onlyChoice {
	empty := ""
	return onlyChoice{Delta: &said{Role: "assistant", Content: &empty}}
}
