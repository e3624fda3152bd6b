"""Writes models of known shapes with random weights, for engines on a machine without a network.

    models.py O200K FOLDER [LAYERS [weights]]

FOLDER/gpt-oss-20b and FOLDER/qwen3-8b are folders for `--load-format dummy` (configuration and
tokenizer, no weights); with `weights` the second has some (BF16, 16.8 GB with 36 layers), for
engines that load no other, such as TabbyAPI. Where the package gguf is there, FOLDER/gpt-oss-20b.gguf
and FOLDER/qwen3-8b.gguf are the same shapes for llama.cpp, their weights drawn once and repeated:
experts in MXFP4, all else in BF16, 14 GB and 17 GB with all layers.

O200K is the file o200k_base.tiktoken, the vocabulary of gpt-oss; LAYERS makes both models shallower,
0 leaves them as they are.
"""

import json
import os
import sys

from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter

# How o200k_base divides text, as tiktoken publishes it.
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PATTERN = "|".join([
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])
VOCABULARY, FIRST_SPECIAL, START, PAD, END = 201088, 199998, 199998, 199999, 200002
SPECIAL = {START: "<|startoftext|>", PAD: "<|endoftext|>", END: "<|return|>", 200003: "<|constrain|>", 200005: "<|channel|>", 200006: "<|start|>",
           200007: "<|end|>", 200008: "<|message|>", 200012: "<|call|>", 200018: "<|endofprompt|>"}

WIDTH, HEADS, KV_HEADS, HEAD, EXPERTS, USED, WINDOW = 2880, 64, 8, 64, 32, 4, 128


def gpt_oss(layers):
    return {
        "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "torch_dtype": "bfloat16", "vocab_size": VOCABULARY,
        "num_hidden_layers": layers, "hidden_size": WIDTH, "intermediate_size": WIDTH, "hidden_act": "silu", "swiglu_limit": 7.0, "rms_norm_eps": 1e-5,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "attention_bias": True, "attention_dropout": 0.0,
        "layer_types": ["full_attention" if i % 2 else "sliding_attention" for i in range(layers)], "sliding_window": WINDOW,
        "num_local_experts": EXPERTS, "num_experts_per_tok": USED, "experts_per_token": USED, "output_router_logits": False, "router_aux_loss_coef": 0.9,
        "max_position_embeddings": 131072, "initial_context_length": 4096, "rope_theta": 150000,
        "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "original_max_position_embeddings": 4096, "truncate": False},
        "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]},
        "bos_token_id": START, "eos_token_id": END, "pad_token_id": PAD, "initializer_range": 0.02, "tie_word_embeddings": False, "use_cache": True,
    }


def qwen3(layers):
    return {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16", "vocab_size": VOCABULARY,
        "num_hidden_layers": layers, "max_window_layers": layers, "hidden_size": 4096, "intermediate_size": 12288, "hidden_act": "silu", "rms_norm_eps": 1e-6,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "attention_bias": False, "attention_dropout": 0.0,
        "max_position_embeddings": 40960, "rope_theta": 1000000, "rope_scaling": None, "sliding_window": None, "use_sliding_window": False,
        "bos_token_id": START, "eos_token_id": END, "pad_token_id": PAD, "initializer_range": 0.02, "tie_word_embeddings": False, "use_cache": True,
    }


def tokenizer(ranks):
    slow = TikTokenConverter(vocab_file=ranks, pattern=PATTERN).converted()
    slow.add_special_tokens([AddedToken(SPECIAL.get(i, f"<|reserved_{i}|>"), normalized=False, special=True) for i in range(FIRST_SPECIAL, VOCABULARY)])
    fast = PreTrainedTokenizerFast(tokenizer_object=slow, bos_token=SPECIAL[START], eos_token=SPECIAL[END], pad_token=SPECIAL[PAD],
        model_max_length=131072)  # without one transformers writes 10^30, on which SGLang's /tokenize breaks
    fast.chat_template = "{% for m in messages %}<|start|>{{m.role}}<|message|>{{m.content}}<|end|>{% endfor %}<|start|>assistant"
    return fast


class Gguf:
    """A file as llama.cpp's own converter names and orders it; see its src/models/openai-moe.cpp and qwen3.cpp."""

    def __init__(self, path, architecture, name, folder):
        import gguf
        import numpy

        self.gguf, self.numpy, self.kinds = gguf, numpy, gguf.GGMLQuantizationType
        with open(os.path.join(folder, "tokenizer.json")) as f:
            model = json.load(f)["model"]
        tokens = sorted(model["vocab"], key=model["vocab"].get)
        tokens += [SPECIAL.get(i, f"<|reserved_{i}|>") for i in range(len(tokens), VOCABULARY)]
        self.out = out = gguf.GGUFWriter(path, architecture, use_temp_file=False)
        out.add_name(name + ", random weights")
        out.add_tokenizer_model("gpt2")
        out.add_tokenizer_pre("gpt-4o")
        out.add_token_list(tokens)
        out.add_token_types([gguf.TokenType.NORMAL if i < FIRST_SPECIAL else gguf.TokenType.CONTROL for i in range(VOCABULARY)])
        out.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in model["merges"]])
        out.add_bos_token_id(START)
        out.add_eos_token_id(END)
        out.add_pad_token_id(PAD)
        out.add_add_bos_token(False)

        self.draw = numpy.random.default_rng(1)
        # The upper half of a float32 is a bfloat16.
        normal = (self.draw.standard_normal(1 << 22, dtype=numpy.float32) * 0.02).view(numpy.uint32)
        self.bf16 = (normal >> 16).astype(numpy.uint16).view(numpy.uint8)
        # A block of MXFP4: an exponent of 2 (biased by 127), then 32 values of 4 bits.
        mxfp4 = self.draw.integers(0, 256, (1 << 18, 17), dtype=numpy.uint8)
        mxfp4[:, 0] = 127 - 7
        self.mxfp4 = mxfp4.reshape(-1)
        self.filled = {}

    def set(self, *values):
        for key, value in values:
            getattr(self.out, "add_" + key)(value)

    def fill(self, kind, shape):
        numpy = self.numpy
        if kind == self.kinds.F32:
            return (self.draw.standard_normal(shape, dtype=numpy.float32) * 0.02 + (len(shape) == 1)).astype(numpy.float32)
        row = shape[-1] * 2 if kind == self.kinds.BF16 else shape[-1] // 32 * 17
        source = self.bf16 if kind == self.kinds.BF16 else self.mxfp4
        size = row * int(numpy.prod(shape[:-1]))
        return numpy.resize(source, size).reshape(*shape[:-1], row)

    def add(self, name, kind, *shape):
        # The writer keeps all tensors until the end, so that layers share theirs.
        if (kind, shape) not in self.filled:
            self.filled[kind, shape] = self.fill(kind, shape)
        self.out.add_tensor(name, self.filled[kind, shape], raw_dtype=kind)

    def write(self):
        self.out.write_header_to_file()
        self.out.write_kv_data_to_file()
        self.out.write_tensors_to_file()
        self.out.close()


def write_gpt_oss(path, folder, layers):
    file = Gguf(path, "gpt-oss", "gpt-oss-20b", folder)
    gguf, kinds, add = file.gguf, file.kinds, file.add
    file.set(("block_count", layers), ("context_length", 131072), ("embedding_length", WIDTH), ("feed_forward_length", WIDTH), ("head_count", HEADS),
             ("head_count_kv", KV_HEADS), ("key_length", HEAD), ("value_length", HEAD), ("expert_count", EXPERTS), ("expert_used_count", USED),
             ("expert_feed_forward_length", WIDTH), ("sliding_window", WINDOW), ("layer_norm_rms_eps", 1e-5), ("rope_freq_base", 150000.0),
             ("rope_scaling_type", gguf.RopeScalingType.YARN), ("rope_scaling_factor", 32.0), ("rope_scaling_orig_ctx_len", 4096),
             ("file_type", gguf.LlamaFileType.MOSTLY_MXFP4_MOE))
    add("token_embd.weight", kinds.BF16, VOCABULARY, WIDTH)
    add("output_norm.weight", kinds.F32, WIDTH)
    add("output.weight", kinds.BF16, VOCABULARY, WIDTH)
    for i in range(layers):
        for name, kind, *shape in (
            ("attn_norm.weight", kinds.F32, WIDTH), ("post_attention_norm.weight", kinds.F32, WIDTH), ("attn_sinks.weight", kinds.F32, HEADS),
            ("attn_q.weight", kinds.BF16, HEADS * HEAD, WIDTH), ("attn_q.bias", kinds.F32, HEADS * HEAD),
            ("attn_k.weight", kinds.BF16, KV_HEADS * HEAD, WIDTH), ("attn_k.bias", kinds.F32, KV_HEADS * HEAD),
            ("attn_v.weight", kinds.BF16, KV_HEADS * HEAD, WIDTH), ("attn_v.bias", kinds.F32, KV_HEADS * HEAD),
            ("attn_output.weight", kinds.BF16, WIDTH, HEADS * HEAD), ("attn_output.bias", kinds.F32, WIDTH),
            ("ffn_gate_inp.weight", kinds.F32, EXPERTS, WIDTH), ("ffn_gate_inp.bias", kinds.F32, EXPERTS),
            ("ffn_gate_exps.weight", kinds.MXFP4, EXPERTS, WIDTH, WIDTH), ("ffn_gate_exps.bias", kinds.F32, EXPERTS, WIDTH),
            ("ffn_up_exps.weight", kinds.MXFP4, EXPERTS, WIDTH, WIDTH), ("ffn_up_exps.bias", kinds.F32, EXPERTS, WIDTH),
            ("ffn_down_exps.weight", kinds.MXFP4, EXPERTS, WIDTH, WIDTH), ("ffn_down_exps.bias", kinds.F32, EXPERTS, WIDTH),
        ):
            add(f"blk.{i}.{name}", kind, *shape)
    file.write()


def write_qwen3(path, folder, config):
    file = Gguf(path, "qwen3", "qwen3-8b", folder)
    kinds, add = file.kinds, file.add
    width, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    file.set(("block_count", config["num_hidden_layers"]), ("context_length", config["max_position_embeddings"]), ("embedding_length", width),
             ("feed_forward_length", inner), ("head_count", heads), ("head_count_kv", kv_heads), ("key_length", head), ("value_length", head),
             ("layer_norm_rms_eps", config["rms_norm_eps"]), ("rope_freq_base", float(config["rope_theta"])),
             ("file_type", file.gguf.LlamaFileType.MOSTLY_BF16))
    add("token_embd.weight", kinds.BF16, VOCABULARY, width)
    add("output_norm.weight", kinds.F32, width)
    add("output.weight", kinds.BF16, VOCABULARY, width)
    for i in range(config["num_hidden_layers"]):
        for name, kind, *shape in (
            ("attn_norm.weight", kinds.F32, width), ("ffn_norm.weight", kinds.F32, width),
            ("attn_q.weight", kinds.BF16, heads * head, width), ("attn_q_norm.weight", kinds.F32, head),
            ("attn_k.weight", kinds.BF16, kv_heads * head, width), ("attn_k_norm.weight", kinds.F32, head),
            ("attn_v.weight", kinds.BF16, kv_heads * head, width), ("attn_output.weight", kinds.BF16, width, heads * head),
            ("ffn_gate.weight", kinds.BF16, inner, width), ("ffn_up.weight", kinds.BF16, inner, width), ("ffn_down.weight", kinds.BF16, width, inner),
        ):
            add(f"blk.{i}.{name}", kind, *shape)
    file.write()


def write_safetensors(path, config):
    """All layers have the tensors of one draw, which takes a tenth of the time; embedding and head have their own."""
    import torch
    from safetensors.torch import save_file

    device = "cuda" if torch.cuda.is_available() else "cpu"
    wide, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    head, query, kv = config["head_dim"], config["num_attention_heads"] * config["head_dim"], config["num_key_value_heads"] * config["head_dim"]
    draw = torch.Generator(device).manual_seed(1)

    def normal(*shape):
        return (torch.randn(shape, generator=draw, device=device, dtype=torch.bfloat16) * 0.02).cpu()

    layer = {"self_attn.q_proj": normal(query, wide), "self_attn.k_proj": normal(kv, wide), "self_attn.v_proj": normal(kv, wide),
             "self_attn.o_proj": normal(wide, query), "mlp.gate_proj": normal(inner, wide), "mlp.up_proj": normal(inner, wide),
             "mlp.down_proj": normal(wide, inner), "input_layernorm": torch.ones(wide, dtype=torch.bfloat16),
             "post_attention_layernorm": torch.ones(wide, dtype=torch.bfloat16), "self_attn.q_norm": torch.ones(head, dtype=torch.bfloat16),
             "self_attn.k_norm": torch.ones(head, dtype=torch.bfloat16)}
    # safetensors refuses tensors that share memory, so every layer gets a copy.
    tensors = {f"model.layers.{i}.{name}.weight": t.clone() for i in range(config["num_hidden_layers"]) for name, t in layer.items()}
    tensors |= {"model.embed_tokens.weight": normal(vocabulary, wide), "lm_head.weight": normal(vocabulary, wide),
                "model.norm.weight": torch.ones(wide, dtype=torch.bfloat16)}
    save_file(tensors, os.path.join(path, "model.safetensors"), metadata={"format": "pt"})


def main():
    ranks, folder = sys.argv[1:3]
    layers = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    fast = tokenizer(ranks)
    for name, config in {"gpt-oss-20b": gpt_oss(layers or 24), "qwen3-8b": qwen3(layers or 36)}.items():
        path = os.path.join(folder, name)
        fast.save_pretrained(path)
        with open(os.path.join(path, "config.json"), "w") as f:
            json.dump(config, f, indent=1)
        with open(os.path.join(path, "generation_config.json"), "w") as f:
            json.dump({"bos_token_id": START, "eos_token_id": END, "pad_token_id": PAD}, f)
    if sys.argv[4:] == ["weights"]:
        write_safetensors(os.path.join(folder, "qwen3-8b"), qwen3(layers or 36))
    try:
        import gguf  # noqa: F401
    except ImportError:
        print("no package gguf: no files for llama.cpp")
        return
    write_gpt_oss(os.path.join(folder, "gpt-oss-20b.gguf"), os.path.join(folder, "gpt-oss-20b"), layers or 24)
    write_qwen3(os.path.join(folder, "qwen3-8b.gguf"), os.path.join(folder, "qwen3-8b"), qwen3(layers or 36))


if __name__ == "__main__":
    main()
