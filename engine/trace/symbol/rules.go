package symbol

// families maps the names by which people and engines know kernels to globs for their
// symbols. All are in lower case, as names are when they are compared.
var families = map[string][]string{
	"marlin":  {"marlin"},
	"cutlass": {"cutlass"},
	"cutlass_grouped_gemm": {
		"cutlass*groupproblemshape", "cutlass*grouped", "groupedgemm*cutlass", "moefcgemm",
		"cutlass*moe*gemm", "ptrarray*tma*warpspecialized",
	},
	"flash_attn_2": {"flash_fwd_kernel", "flash_fwd_splitkv", "flash::flash_fwd"},
	"flash_attn_3": {
		"flashattnfwdsm90", "flashattnfwdsm80", "flashattnfwdcombine",
		"flash::prepare_varlen_num_blocks",
	},
	"flash_attn_4": {"flashattentionforwardsm", "flash_attncute", "flash_fwd_sm100"},
	"flash_attn":   {"flash_fwd", "flashattn", "flashattention", "flash_attncute", "flash_attn"},
	"flashinfer": {
		"flashinfer", "batchprefillwith", "batchdecodewith", "singleprefillwith",
		"singledecodewith", "batchmlapaged",
	},
	"flashmla":   {"flash_mla", "flashmla", "flash_fwd_splitkv_mla"},
	"trtllm_gen": {"fmhasm100", "fmhasm103", "bmm_*_sm100", "gemm_*_sm100f", "trtllm*gen"},
	"deep_gemm":  {"deep_gemm", "fp8_gemm_kernel", "sm90_fp8_gemm_1d", "sm100_fp8_gemm_1d"},
	"cublas": {
		"nvjet", "cublas", "gemvx::kernel", "^ampere_*gemm", "^volta_*gemm", "^turing_*gemm",
		"xmma_gemm", "gemmk1_kernel", "gemv2t_kernel", "gemvnsp_kernel",
	},
	"nvjet":    {"nvjet"},
	"triton":   {"^triton_", "_triton_", "triton::"},
	"inductor": {"^triton_poi_", "^triton_red_", "^triton_per_", "^triton_tem_"},
	"nccl":     {"nccldevkernel", "ncclkernel", "nccl"},
	"rccl":     {"rccl", "nccldevkernel"},
	"custom_all_reduce": {
		"cross_device_reduce", "oneshotallreduce", "twoshotallreduce", "allreducefusion",
		"multimem_all_reduce",
	},
	"mmvq": {"mul_mat_vec_q"},
	"mmq":  {"mul_mat_q"},
	"mmvf": {"mul_mat_vec_f", "mul_mat_vec<"},
	"flash_attn_ext": {
		"flash_attn_ext", "flash_attn_tile", "flash_attn_mma", "flash_attn_vec",
		"flash_attn_stream_k_fixup", "flash_attn_combine_results",
	},
	"aiter":             {"aiter::", "^aiter_", "_aiter_", "ck_tile::", "fmoe_"},
	"composable_kernel": {"ck::", "ck_tile::"},
	"hipblaslt":         {"^cijk_", "hipblaslt"},
	// Conversions between formats of numbers.
	"conversion": {"quantize", "_quant", "cvt_", "convert_unary", "convert_float", "_to_copy"},
}

// rules put kernels into categories. The first match counts, so a word for what a kernel
// does comes before the name of the library that it is made with. All are in lower case.
var rules = []struct {
	category string
	globs    []string
}{
	// Copies, as profilers call them and as kernels.
	{Memory, []string{
		"^memcpy", "^memset", "^[cuda mem", "^copybuffer", "^fillbuffer", "^__amd_rocclr_",
		"zero_kv_blocks",
	}},
	{Hidden, []string{"^cuda graph"}},
	{Communication, []string{
		"nccl", "rccl", "cross_device_reduce", "allreduce_fusion", "allreducefusion", "oneshotallreduce",
		"twoshotallreduce", "multimem_all", "all_reduce_kernel", "allgather", "all_gather",
		"reduce_scatter", "alltoall", "all2all", "deep_ep::", "nvshmem", "mscclpp",
	}},
	// Words of mixture-of-experts layers, before GEMM and norm.
	{NormActivation, []string{"moe_forward*rms_norm", "rms_norm*moe_forward"}},
	{MoE, []string{
		"marlin_moe", "moe_align", "moe_sum", "topkgating", "topk_gating", "topk_softmax", "topk_softplus",
		"grouped_topk", "expert_tokens", "router_topk", "routing", "fused_moe", "fusedmoe", "fmoe",
		"moefcgemm", "groupproblemshape", "grouped_gemm", "groupedgemm", "cutlass*grouped", "mul_mat_id",
		"mmid",
	}},
	// llama.cpp: kernels that depend on the router's choice. The experts' matrix products
	// use the same kernels as others, but type 39, MXFP4, which it writes for experts
	// only. Nothing but the router sorts rows.
	{MoE, []string{
		"mm_ids_helper", "mul_mat_f_ids", "add_id_kernel", "k_argsort", "mul_mat*<39,",
		"mul_mat*<(ggml_type)39,", "quantize_mmq_mxfp4", "matmul_ogs",
	}},
	// Routing around it, by triton_kernels.
	{MoE, []string{
		"_topk_forward", "sum_bitmatrix", "_bitmatrix_metadata", "_ragged_tensor_metadata", "^_reduce$",
		"_reduce_grouped", "_finalize_matmul", "_matmul_*mxfp4", "expert", "moe", "bmm_e2m1", "bmm_mxe2m1",
	}},
	// Sampling, before the sort and softmax that others use too.
	{Sampling, []string{
		"argmax", "gathertopk", "radixsort", "bitonicsort", "sbtopk", "mbtopk", "topktopp", "topk_topp",
		"topkmask", "topksampling", "topp", "sampling", "sampler", "sample_", "penalt", "multinomial",
		"cunn_softmax", "distribution_elementwise", "rejection", "gumbel", "eagle", "draft",
		"logits_processor", "bitmask",
	}},
	{DenseGEMM, []string{"linear_qkv", "linear_out", "lm_head"}},
	{NormActivation, []string{"flashinfer::norm", "flashinfer::activation"}},
	{Attention, []string{
		"norm_rope_insert", "normrope", "qnorm*rope", "flash", "attention", "attn", "fmha", "sdpa", "mha_",
		"mqa_logits", "mla", "pagedkv", "paged_", "batchprefill", "batchdecode", "batchmla", "mergestate",
		"merge_state", "reshape_and_cache", "concat_and_cache", "kv_cache", "kvcache", "kv_store",
		"kv_round", "set_rows", "k_set_rows", "rope", "rotary", "softmax_sinks", "softmax_plain",
		"soft_max", "sparse_attn", "indexer", "causal_conv1d", "gated_delta", "delta_rule",
		"selective_scan", "ssm_", "swa_indices", "with_sink", "reduce_segments",
		"topkperrow", "topk_per_row", "top_k_per_row", "persistent_topk", "filteredtopk", // of sparse attention
	}},
	// Linear layers. Quantizing the input of one is part of its cost.
	{DenseGEMM, []string{
		"hc_prenorm_gemm", "nvjet", "cublas", "gemvx::kernel", "marlin", "gemm", "gemv", "mul_mat",
		"matmul", "_mm$", "scaled_mm", "scaledmm", "^cijk_", "splitkreduce", "splitk_reduce",
		"quantize_mmq", "quantize_q8_1", "group_quant", "per_token_quant", "scaled_fp8_quant",
		"cvt_fp16_to_fp4", "fp8_einsum", "dequantize_block", "convert_unary", "cutlass::kernel2",
		"wvsplitk", "tinygemm", "lora_shrink", "lora_expand", "bgmv", "sgmv",
	}},
	{NormActivation, []string{
		"norm", "silu", "swiglu", "gelu", "act_and_mul", "and_mul_kernel", "relu", "sigmoid",
		"unary_gated_op", "rsqrt", "powf", "pow_tensor", "meanops", "mean_", "mhc_", "hc_head",
	}},
	{Memory, []string{
		"direct_copy", "copy_kernel", "catarraybatched", "fillfunctor", "gpu_index_kernel", "index_kernel",
		"gather_kernel", "scatter", "get_rows", "cpy_", "embedding", "triton_poi_fused_copy",
		"triton_poi_fused__to_copy",
	}},
}
