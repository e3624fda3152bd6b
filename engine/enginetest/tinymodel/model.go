// Package tinymodel writes language models of half a megabyte, for tests that start real
// engines: a GGUF file for llama.cpp, a Hugging Face folder for vLLM, SGLang and
// transformers. Nothing is trained or downloaded. The layers are random; embedding and
// output head are built so that each word of a short text is followed by the next one. So
// answers read as text and are known, and an engine that computes wrongly gives others.
package tinymodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// text is what the model continues with. Every word occurs once, so each determines the
// next; after the last comes the first.
const text = "Paris has many old bridges over a wide river where boats carry stone wood and grain " +
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
	words := strings.Fields(text)
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
	words := strings.Fields(text)
	var out []string
	for i := range n {
		out = append(out, words[i%len(words)])
	}
	return strings.Join(out, " ")
}

// Tensor is one weight, row by row: Rows outputs of Columns inputs; a vector has one row.
type Tensor struct {
	// Name is the one in Hugging Face's Llama, GGUF the one in llama.cpp.
	Name, GGUF    string
	Rows, Columns int
	Vector        bool
	Data          []float32
}

// Tensors generates all weights, the same for the same seed.
func (m *Model) Tensors() []Tensor {
	random := rand.New(rand.NewPCG(m.seed, 17))
	matrix := func(rows, columns int, scale float64) []float32 {
		data := make([]float32, rows*columns)
		for i := range data {
			data[i] = float32(random.NormFloat64() * scale)
		}
		return data
	}
	ones := func() []float32 {
		data := make([]float32, m.Hidden)
		for i := range data {
			data[i] = 1
		}
		return data
	}
	head := m.Hidden / m.Heads
	wide := 1 / math.Sqrt(float64(m.Hidden))
	// What layers add to the stream stays far below the embedding, so the head can still
	// read the word from it.
	const faint = 0.002
	embedding := matrix(len(m.Tokens), m.Hidden, 1)
	out := []Tensor{
		{Name: "model.embed_tokens.weight", GGUF: "token_embd.weight", Rows: len(m.Tokens), Columns: m.Hidden, Data: embedding},
	}
	for i := range m.Layers {
		layer := func(name, gguf string, rows, columns int, scale float64) {
			out = append(out, Tensor{
				Name: "model.layers." + strconv.Itoa(i) + "." + name + ".weight", GGUF: "blk." + strconv.Itoa(i) + "." + gguf + ".weight",
				Rows: rows, Columns: columns, Data: matrix(rows, columns, scale),
			})
		}
		norm := func(name, gguf string) {
			out = append(out, Tensor{
				Name: "model.layers." + strconv.Itoa(i) + "." + name + ".weight", GGUF: "blk." + strconv.Itoa(i) + "." + gguf + ".weight",
				Rows: 1, Columns: m.Hidden, Vector: true, Data: ones(),
			})
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
		Tensor{Name: "model.norm.weight", GGUF: "output_norm.weight", Rows: 1, Columns: m.Hidden, Vector: true, Data: ones()},
		Tensor{Name: "lm_head.weight", GGUF: "output.weight", Rows: len(m.Tokens), Columns: m.Hidden, Data: lm},
	)
}
