package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// writeTokenizer writes a folder that Hugging Face's libraries load as the
// tokenizer of a model, so that the other tools need no download: byte-level
// BPE without merges, in which each byte is a token.
func writeTokenizer(dir string) error {
	vocab := map[string]int{}
	for b := range 256 {
		vocab[string(byteRune(byte(b)))] = b
	}
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	for name, content := range map[string]any{
		"tokenizer.json": map[string]any{
			"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []any{}, "normalizer": nil,
			"pre_tokenizer": level, "post_processor": nil, "decoder": level,
			"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": []any{}},
		},
		"tokenizer_config.json": map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 1 << 20,
			"chat_template": "{% for message in messages %}{{ message['content'] }}{% endfor %}",
		},
		"config.json": map[string]any{"model_type": "gpt2", "vocab_size": 256},
	} {
		text, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// byteRune is the character that stands for a byte in byte-level vocabularies:
// itself where it is printable and no space, otherwise one from U+0100 on, in
// order.
func byteRune(b byte) rune {
	next := rune(0x100)
	for c := range 256 {
		printable := c >= '!' && c <= '~' || c >= 0xa1 && c <= 0xac || c >= 0xae
		switch {
		case c == int(b) && printable:
			return rune(c)
		case c == int(b):
			return next
		case !printable:
			next++
		}
	}
	return 0
}
