// Package tinymodel makes language models of half a megabyte, for tests that start real engines: a GGUF file for
// llama.cpp, a Hugging Face folder for vLLM, SGLang and transformers. Nothing is trained or
// downloaded. The layers are random; embedding and output head are built so that each word
// of a short text is followed by the next one. So answers read as text and are known, and an
// engine that computes wrongly gives others.
package tinymodel

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/internal/sorted"
)

// story is what the model continues with. Every word occurs once, so each determines the
// next; after the last comes the first.
const story = "Paris has many old bridges over a wide river where boats carry stone wood and grain " +
	"to markets that open early every morning while bakers light their ovens"

// lead are words for prompts; after each of them comes the text's first word.
const lead = "The capital of France is"

// Model is one model: its shape, its tokens and which token follows which.
type Model struct {
	Hidden, Layers, Heads, KVHeads, FeedForward, Context int

	// Tokens are the vocabulary: specials, one per byte, then words with a leading ▁ and
	// all their prefixes.
	Tokens []string
	next   []int
	seed   uint64
}

// The first tokens of the vocabulary.
const (
	unknown = iota
	begin
	end
	firstByte
	firstWord = firstByte + 256
)

// New is the model of a seed: another seed gives other weights and the same answers.
func New(seed uint64) *Model {
	m := &Model{Hidden: 128, Layers: 2, Heads: 2, KVHeads: 1, FeedForward: 256, Context: 2048, seed: seed}
	m.Tokens = []string{"<unk>", "<s>", "</s>"}
	for b := range 256 {
		m.Tokens = append(m.Tokens, fmt.Sprintf("<0x%02X>", b))
	}
	ids := map[string]int{}
	add := func(token string) {
		if _, ok := ids[token]; !ok {
			ids[token] = len(m.Tokens)
			m.Tokens = append(m.Tokens, token)
		}
	}
	words := strings.Fields(story)
	// llama.cpp merges a word from the left, so each prefix is a token too.
	for _, word := range append(strings.Fields(lead), words...) {
		for i := range len(word) + 1 {
			add("▁" + word[:i])
		}
		for i := range len(word) {
			add(word[i : i+1])
		}
	}
	for len(m.Tokens)%64 != 0 {
		m.Tokens = append(m.Tokens, fmt.Sprintf("<unused%d>", len(m.Tokens)))
	}
	first := ids["▁"+words[0]]
	m.next = make([]int, len(m.Tokens)) // unknown if nothing follows
	for _, word := range strings.Fields(lead) {
		m.next[ids["▁"+word]] = first
	}
	for i, word := range words {
		m.next[ids["▁"+word]] = ids["▁"+words[(i+1)%len(words)]]
	}
	return m
}

// Answer is the first n words after a prompt whose last word is one of the lead's.
func Answer(n int) string {
	words := strings.Fields(story)
	var out []string
	for i := range n {
		out = append(out, words[i%len(words)])
	}
	return strings.Join(out, " ")
}

// tensor is one weight, row by row: Rows outputs of Columns inputs; a vector has one row.
type tensor struct {
	// Name is the one in Hugging Face's Llama, GGUF the one in llama.cpp.
	Name, GGUF    string
	Rows, Columns int
	Vector        bool
	Data          []float32
}

// Tensors generates all weights, the same for the same seed.
func (m *Model) Tensors() []tensor {
	random := rand.New(rand.NewPCG(m.seed, 17))
	matrix := func(rows, columns int, scale float64) []float32 {
		data := make([]float32, rows*columns)
		for i := range data {
			data[i] = float32(random.NormFloat64() * scale)
		}
		return data
	}
	ones := func() []float32 { return slices.Repeat([]float32{1}, m.Hidden) }
	head := m.Hidden / m.Heads
	wide := 1 / math.Sqrt(float64(m.Hidden))
	// What layers add to the stream stays far below the embedding, so the head can still
	// read the word from it.
	const faint = 0.002
	embedding := matrix(len(m.Tokens), m.Hidden, 1)
	out := []tensor{
		{
			Name: "model.embed_tokens.weight", GGUF: "token_embd.weight", Rows: len(m.Tokens), Columns: m.Hidden,
			Data: embedding,
		},
	}
	for i := range m.Layers {
		add := func(name, gguf string, t tensor) {
			t.Name, t.GGUF = fmt.Sprintf("model.layers.%d.%s.weight", i, name), fmt.Sprintf("blk.%d.%s.weight", i, gguf)
			out = append(out, t)
		}
		layer := func(name, gguf string, rows, columns int, scale float64) {
			add(name, gguf, tensor{Rows: rows, Columns: columns, Data: matrix(rows, columns, scale)})
		}
		norm := func(name, gguf string) {
			add(name, gguf, tensor{Rows: 1, Columns: m.Hidden, Vector: true, Data: ones()})
		}
		norm("input_layernorm", "attn_norm")
		layer("self_attn.q_proj", "attn_q", m.Hidden, m.Hidden, wide)
		layer("self_attn.k_proj", "attn_k", m.KVHeads*head, m.Hidden, wide)
		layer("self_attn.v_proj", "attn_v", m.KVHeads*head, m.Hidden, wide)
		layer("self_attn.o_proj", "attn_output", m.Hidden, m.Hidden, faint)
		norm("post_attention_layernorm", "ffn_norm")
		layer("mlp.gate_proj", "ffn_gate", m.FeedForward, m.Hidden, wide)
		layer("mlp.up_proj", "ffn_up", m.FeedForward, m.Hidden, wide)
		layer("mlp.down_proj", "ffn_down", m.Hidden, m.FeedForward, faint)
	}
	lm := make([]float32, len(m.Tokens)*m.Hidden)
	for token, next := range m.next {
		if next == unknown {
			continue
		}
		row := lm[next*m.Hidden : (next+1)*m.Hidden]
		for j, v := range embedding[token*m.Hidden : (token+1)*m.Hidden] {
			row[j] += v * float32(wide)
		}
	}
	return append(out,
		tensor{
			Name: "model.norm.weight", GGUF: "output_norm.weight", Rows: 1, Columns: m.Hidden,
			Vector: true, Data: ones(),
		},
		tensor{Name: "lm_head.weight", GGUF: "output.weight", Rows: len(m.Tokens), Columns: m.Hidden, Data: lm},
	)
}

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
	for name, content := range sorted.All(files) {
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
			"id": id, "content": m.Tokens[id], "special": true, "single_word": false, "lstrip": false, "rstrip": false,
			"normalized": false,
		}
	}
	replace := map[string]any{"String": "▁"}
	return map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil,
		"added_tokens": []any{special(unknown), special(begin), special(end)},
		"normalizer":   nil,
		"pre_tokenizer": map[string]any{
			"type": "Metaspace", "replacement": "▁",
			"prepend_scheme": "always", "split": true,
		},
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
		kind := int32(tokenNormal)
		switch {
		case i == unknown:
			kind = tokenUnknown
		case i == begin || i == end:
			kind = tokenControl
		case i < firstWord:
			kind = tokenByte
		case strings.HasPrefix(t, "<unused"):
			kind = tokenUnused
		}
		g.put(kind)
	}
	g.number("tokenizer.ggml.bos_token_id", begin)
	g.number("tokenizer.ggml.eos_token_id", end)
	g.key("tokenizer.ggml.add_bos_token", ggufBool)
	g.put(byte(1))
}
