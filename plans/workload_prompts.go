package plans

var promptAttrs = []Attr{
	{Name: "api", Type: String, Default: "completions", OneOf: []string{"completions", "chat"}, Doc: "The endpoint."},
	{Name: "prompts", Type: String, Default: "text", OneOf: []string{"text", "random"}, Doc: "What prompts are made of: English sentences that come with mxflow, or random token ids, which only completions take."},
	{Name: "turns", Type: Int, Default: 1.0, Min: 1, MinSet: true, Max: maxTurns, Doc: "Turns of each conversation, of chat: each sends what was said before. Of a `dataset`, how many of a conversation's turns are sent at most."},
	{Name: "system_tokens", Type: Int, Default: 0.0, Unit: "tokens", MinSet: true, Max: maxTokens, Doc: "Length of a system prompt that all requests of a cell share, of chat. Prefix caches may hold it."},
}

const maxTurns = 1000

// decodePrompts reads where prompts come from.
func (w *Workload) decodePrompts(l *loader, f *body) {
	w.API = f.oneOf("api", "completions", "completions", "chat")
	w.Prompts = f.oneOf("prompts", "text", "text", "random")
	w.Turns = f.whole("turns", 1, 1, maxTurns)
	w.SystemTokens = f.whole("system_tokens", 0, 0, maxTokens)
	w.Data = l.dataset(f)
}
