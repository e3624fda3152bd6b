package tinymodel

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
)

// WriteHuggingFace writes the model as a folder that transformers, vLLM and
// SGLang load: config.json, model.safetensors with float32 weights, and a
// tokenizer of the Unigram kind with the same vocabulary as the GGUF file.
func (m *Model) WriteHuggingFace(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	weights, err := m.safetensors()
	if err != nil {
		return err
	}
	files := map[string]any{
		"config.json": map[string]any{
			"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "hidden_act": "silu",
			"hidden_size": m.Hidden, "intermediate_size": m.FeedForward, "num_hidden_layers": m.Layers,
			"num_attention_heads": m.Heads, "num_key_value_heads": m.KVHeads, "max_position_embeddings": m.Context,
			"vocab_size": len(m.Tokens), "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false,
			"bos_token_id": begin, "eos_token_id": end, "torch_dtype": "float32",
		},
		"generation_config.json": map[string]any{"bos_token_id": begin, "eos_token_id": end},
		"tokenizer_config.json": map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
			"model_max_length": m.Context,
			"chat_template":    "{% for message in messages %}{{ message['content'] }} {% endfor %}",
		},
		"tokenizer.json": m.tokenizer(),
	}
	for name, content := range files {
		text, err := json.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "model.safetensors"), weights, 0o644)
}

// tokenizer is the content of a tokenizer.json.
func (m *Model) tokenizer() map[string]any {
	var vocab [][]any
	for i, t := range m.Tokens {
		score := -10.0
		if i >= firstWord {
			// A whole word costs less than any two of its pieces.
			score = -1 - 1/float64(len(t))
		}
		vocab = append(vocab, []any{t, score})
	}
	special := func(id int) map[string]any {
		return map[string]any{
			"id": id, "content": m.Tokens[id], "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
		}
	}
	replace := map[string]any{"String": "▁"}
	return map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil,
		"added_tokens":   []any{special(unknown), special(begin), special(end)},
		"normalizer":     nil,
		"pre_tokenizer":  map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
		"post_processor": nil,
		"decoder": map[string]any{"type": "Sequence", "decoders": []any{
			map[string]any{"type": "Replace", "pattern": replace, "content": " "},
			map[string]any{"type": "ByteFallback"},
			map[string]any{"type": "Fuse"},
		}},
		"model": map[string]any{"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": true},
	}
}

// safetensors is the content of a .safetensors file: the length of a JSON header as 8
// bytes, the header with each tensor's position, then the tensors.
func (m *Model) safetensors() ([]byte, error) {
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data bytes.Buffer
	for _, t := range m.Tensors() {
		shape := []int{t.Rows, t.Columns}
		if t.Vector {
			shape = []int{t.Columns}
		}
		from := data.Len()
		if err := binary.Write(&data, binary.LittleEndian, t.Data); err != nil {
			return nil, err
		}
		header[t.Name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{from, data.Len()}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(out, text...), data.Bytes()...), nil
}
