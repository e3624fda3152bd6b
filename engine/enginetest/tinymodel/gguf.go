package tinymodel

import (
	"bufio"
	"encoding/binary"
	"os"
)

// Types of values in GGUF's metadata, and where tensors begin; see the format's
// description in ggml (docs/gguf.md), version 3.
const (
	ggufUint32  = 4
	ggufInt32   = 5
	ggufFloat32 = 6
	ggufBool    = 7
	ggufString  = 8
	ggufArray   = 9

	ggufAlignment = 32
)

// Kinds of tokens in tokenizer.ggml.token_type.
const (
	tokenNormal  = 1
	tokenUnknown = 2
	tokenControl = 3
	tokenUnused  = 5
	tokenByte    = 6
)

// ggufWriter writes little-endian values and remembers the first error.
type ggufWriter struct {
	w     *bufio.Writer
	err   error
	wrote int
}

func (g *ggufWriter) put(v any) {
	if g.err == nil {
		g.err = binary.Write(g.w, binary.LittleEndian, v)
		g.wrote += binary.Size(v)
	}
}

func (g *ggufWriter) text(s string) {
	g.put(uint64(len(s)))
	g.put([]byte(s))
}

func (g *ggufWriter) key(name string, kind uint32) {
	g.text(name)
	g.put(kind)
}

func (g *ggufWriter) number(name string, n int) {
	g.key(name, ggufUint32)
	g.put(uint32(n))
}

func (g *ggufWriter) array(name string, kind uint32, n int) {
	g.key(name, ggufArray)
	g.put(kind)
	g.put(uint64(n))
}

func (g *ggufWriter) pad() {
	for g.wrote%ggufAlignment != 0 {
		g.put(byte(0))
	}
}

// WriteGGUF writes the model as one file that llama.cpp loads, with float32
// weights and a SentencePiece vocabulary.
func (m *Model) WriteGGUF(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	g := &ggufWriter{w: bufio.NewWriter(f)}
	tensors := m.Tensors()
	g.put([]byte("GGUF"))
	g.put(uint32(3))
	g.put(uint64(len(tensors)))
	g.put(uint64(18))
	m.ggufShape(g)
	m.ggufVocabulary(g)
	offset := 0
	for _, t := range tensors {
		g.text(t.GGUF)
		if t.Vector {
			g.put(uint32(1))
			g.put(uint64(t.Columns))
		} else {
			g.put(uint32(2))
			g.put(uint64(t.Columns)) // the innermost first
			g.put(uint64(t.Rows))
		}
		g.put(uint32(0)) // float32
		g.put(uint64(offset))
		offset += (4*len(t.Data) + ggufAlignment - 1) / ggufAlignment * ggufAlignment
	}
	g.pad()
	for _, t := range tensors {
		g.put(t.Data)
		g.pad()
	}
	if g.err == nil {
		g.err = g.w.Flush()
	}
	if g.err != nil {
		return g.err
	}
	return f.Close()
}

func (m *Model) ggufShape(g *ggufWriter) {
	g.key("general.architecture", ggufString)
	g.text("llama")
	g.key("general.name", ggufString)
	g.text("mxflow tiny")
	g.number("llama.context_length", m.Context)
	g.number("llama.embedding_length", m.Hidden)
	g.number("llama.block_count", m.Layers)
	g.number("llama.feed_forward_length", m.FeedForward)
	g.number("llama.attention.head_count", m.Heads)
	g.number("llama.attention.head_count_kv", m.KVHeads)
	g.number("llama.rope.dimension_count", m.Hidden/m.Heads)
	g.number("llama.vocab_size", len(m.Tokens))
	g.key("llama.attention.layer_norm_rms_epsilon", ggufFloat32)
	g.put(float32(1e-5))
}

func (m *Model) ggufVocabulary(g *ggufWriter) {
	g.key("tokenizer.ggml.model", ggufString)
	g.text("llama")
	g.array("tokenizer.ggml.tokens", ggufString, len(m.Tokens))
	for _, t := range m.Tokens {
		g.text(t)
	}
	g.array("tokenizer.ggml.scores", ggufFloat32, len(m.Tokens))
	for _, t := range m.Tokens {
		g.put(float32(len(t))) // the longest beginning of a word is joined first
	}
	g.array("tokenizer.ggml.token_type", ggufInt32, len(m.Tokens))
	for i, t := range m.Tokens {
		g.put(tokenType(i, t))
	}
	g.number("tokenizer.ggml.bos_token_id", begin)
	g.number("tokenizer.ggml.eos_token_id", end)
	g.key("tokenizer.ggml.add_bos_token", ggufBool)
	g.put(byte(1))
}

func tokenType(i int, token string) int32 {
	switch {
	case i == unknown:
		return tokenUnknown
	case i == begin || i == end:
		return tokenControl
	case i < firstWord:
		return tokenByte
	case len(token) > 7 && token[:7] == "<unused":
		return tokenUnused
	}
	return tokenNormal
}
