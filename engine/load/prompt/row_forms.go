package prompt

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/openai"
)

func (r *Row) readPrompt(m members) error {
	text, err := m.text("prompt")
	if err != nil {
		return err
	}
	r.Turns = []string{text}
	return r.readSystem(m)
}

func (r *Row) readSystem(m members) (err error) {
	if m["system"] != nil {
		r.System, err = m.text("system")
	}
	return err
}

// messages reads an array of objects that have a text and say whose it is.
func (m members) messages(name, who, what string) ([]openai.Message, error) {
	list, err := m.list(name, maxMessages)
	if err != nil {
		return nil, err
	}
	all := make([]openai.Message, len(list))
	for i, raw := range list {
		one, err := object(raw)
		if err == nil {
			all[i].Role, err = one.text(who)
		}
		if err == nil {
			all[i].Content, err = one.text(what)
		}
		if err == nil && name == "messages" && len(one) > 2 {
			err = fmt.Errorf("it has more members than %q and %q, which are all that is sent", who, what)
		}
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", name, i, err)
		}
	}
	return all, nil
}

func (r *Row) readMessages(m members) error {
	all, err := m.messages("messages", "role", "content")
	if err != nil {
		return err
	}
	for i, one := range all {
		switch one.Role {
		case "system":
			if i > 0 {
				return fmt.Errorf("messages[%d]: a system message must be the first", i)
			}
			r.System = one.Content
			continue
		case "user", "assistant":
		default:
			return fmt.Errorf("messages[%d]: unknown role %.40q: use \"system\", \"user\" or \"assistant\"", i, one.Role)
		}
		r.Before = append(r.Before, one)
	}
	last := len(r.Before) - 1
	if last < 0 || r.Before[last].Role != "user" {
		return fmt.Errorf("the last of the messages must be the user's: it is what the engine answers")
	}
	r.Turns, r.Before = []string{r.Before[last].Content}, r.Before[:last:last]
	return nil
}

// readConversations keeps what people said. The names are those that files in
// the form of ShareGPT use.
func (r *Row) readConversations(m members) error {
	all, err := m.messages("conversations", "from", "value")
	if err != nil {
		return err
	}
	if err := r.readSystem(m); err != nil {
		return err
	}
	for i, one := range all {
		switch one.Role {
		case "human", "user":
			r.Turns = append(r.Turns, one.Content)
		case "gpt", "assistant", "model", "chatgpt", "bard", "bing":
		case "system":
			if i > 0 || r.System != "" {
				return fmt.Errorf("conversations[%d]: a system message must be the first, and the only one", i)
			}
			r.System = one.Content
		default:
			return fmt.Errorf("conversations[%d]: unknown speaker %.40q: use \"human\", \"gpt\" or \"system\"", i, one.Role)
		}
	}
	if len(r.Turns) == 0 {
		return fmt.Errorf("no human says anything in the conversation: remove the row")
	}
	return nil
}

// readAnswer reads what a row says of its answer.
func (r *Row) readAnswer(m members) (err error) {
	name := "output_tokens"
	if m["max_tokens"] != nil {
		if m[name] != nil {
			return fmt.Errorf(`the row has both "output_tokens" and "max_tokens": keep one of them`)
		}
		name = "max_tokens"
	}
	if r.Output, err = m.count(name); err != nil {
		return err
	}
	if m["tool_choice"] != nil && m["tools"] == nil {
		return fmt.Errorf(`the row has "tool_choice" and no "tools": add them, or remove it`)
	}
	for _, name := range []string{"tools", "tool_choice"} {
		if m[name] == nil {
			continue
		}
		if name == "tools" {
			list, err := m.list(name, maxMessages)
			if err != nil {
				return err
			}
			for i, tool := range list {
				if _, err := object(tool); err != nil {
					return fmt.Errorf("tools[%d]: %w", i, err)
				}
			}
		}
		var value any
		if err := json.Unmarshal(m[name], &value); err != nil || value == nil {
			return fmt.Errorf("%q must have a value, and is %.40s", name, m[name])
		}
		if r.Extra == nil {
			r.Extra = map[string]any{}
		}
		r.Extra[name] = value
	}
	return nil
}

// readTrace reads a row of a trace.
func (r *Row) readTrace(m members) (err error) {
	if r.Input, err = m.count("input_length"); err != nil {
		return err
	}
	if r.Output, err = m.count("output_length"); err != nil {
		return err
	}
	var ms *float64
	if raw := m["timestamp"]; raw == nil {
		return fmt.Errorf(`"timestamp" is missing: it is when the request was sent, in milliseconds`)
	} else if json.Unmarshal(raw, &ms) != nil || ms == nil || *ms < 0 || *ms > 1e12 {
		return fmt.Errorf(`"timestamp" must be milliseconds from 0 to 1e12, and is %.40s`, raw)
	}
	r.At = time.Duration(*ms * float64(time.Millisecond))
	if m["hash_ids"] == nil {
		return nil
	}
	blocks := (r.Input + hashBlock - 1) / hashBlock
	if json.Unmarshal(m["hash_ids"], &r.Hashes) != nil || len(r.Hashes) != blocks {
		return fmt.Errorf(`"hash_ids" must be %d whole numbers from 0, one for each %d of the %d tokens of "input_length", and is %.40s`, blocks, hashBlock, r.Input, m["hash_ids"])
	}
	return nil
}
