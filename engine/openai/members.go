package openai

// member returns the slot for the value of a key in an object, nil for a key
// that is not read, and the place that the value would be if it is an object or
// a list. The values inside an earlier member of the same name are forgotten.
func (f *fields) member(at place, key []byte) (*span, place) {
	switch at {
	case inRoot:
		return f.root(key)
	case inChoice:
		return f.inChoice(key)
	case inDelta:
		return f.inDelta(key)
	case inCall:
		if string(key) == "function" {
			f.function()
			return nil, inFunction
		}
	case inFunction:
		return f.calls[len(f.calls)-1].member(key)
	case inOldCall:
		return f.oldCall.member(key)
	case inUsage:
		switch string(key) {
		case "completion_tokens":
			return &f.completion, nowhere
		case "prompt_tokens":
			return &f.prompt, nowhere
		case "prompt_tokens_details":
			f.cached = span{}
			return nil, inDetails
		}
	case inDetails:
		if string(key) == "cached_tokens" {
			return &f.cached, nowhere
		}
	case inTimings:
		switch string(key) {
		case "predicted_n":
			return &f.predictedN, nowhere
		case "cache_n":
			return &f.cacheN, nowhere
		}
	case inError:
		if string(key) == "message" {
			return &f.failureMessage, nowhere
		}
	}
	return nil, nowhere
}

func (f *fields) root(key []byte) (*span, place) {
	switch string(key) {
	case "choices":
		f.choice, f.text, f.finish, f.index, f.several = span{}, span{}, span{}, span{}, false
		f.forgetDelta()
		return nil, inChoices
	case "usage":
		f.completion, f.prompt, f.cached = span{}, span{}, span{}
		return &f.usage, inUsage
	case "timings":
		f.predictedN, f.cacheN = span{}, span{}
		return nil, inTimings
	case "error":
		f.failureMessage = span{}
		return &f.failure, inError
	case "object":
		return &f.object, nowhere
	case "message":
		return &f.message, nowhere
	}
	return nil, nowhere
}

func (f *fields) inChoice(key []byte) (*span, place) {
	switch string(key) {
	case "text":
		return &f.text, nowhere
	case "finish_reason":
		return &f.finish, nowhere
	case "index":
		return &f.index, nowhere
	case "delta":
		f.forgetDelta()
		return nil, inDelta
	}
	return nil, nowhere
}

func (f *fields) inDelta(key []byte) (*span, place) {
	switch string(key) {
	case "content":
		return &f.content, nowhere
	case "reasoning_content":
		return &f.reasoningContent, nowhere
	case "reasoning":
		return &f.reasoning, nowhere
	case "tool_calls":
		f.calls = f.calls[:0]
		return nil, inCalls
	case "function_call":
		f.oldCall = toolCall{}
		return nil, inOldCall
	}
	return nil, nowhere
}

func (f *fields) forgetDelta() {
	f.content, f.reasoning, f.reasoningContent = span{}, span{}, span{}
	f.calls, f.oldCall = f.calls[:0], toolCall{}
}

// function makes room for the function of the tool call that is being scanned.
func (f *fields) function() {
	if f.open {
		f.calls[len(f.calls)-1] = toolCall{}
		return
	}
	f.calls, f.open = append(f.calls, toolCall{}), true
}

func (c *toolCall) member(key []byte) (*span, place) {
	switch string(key) {
	case "name":
		return &c.name, nowhere
	case "arguments":
		return &c.arguments, nowhere
	}
	return nil, nowhere
}
