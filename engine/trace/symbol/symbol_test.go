package symbol

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	marlin = "void marlin_moe_wna16::Marlin<1125899906909960l, 562949953487106l, 1125899906909960l, " +
		"2814749767106568l, 128, 1, 8, 4, true, 4, 2, false>(int4 const*, int4 const*, int)"
	grouped = `void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int> >, cutlass::gemm::collective::CollectiveMma<cute::tuple<cute::C<64>, cute::C<128> > > > >(int)`
	fa3     = `void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1> >, cute::tuple<cute::C<192>, cute::C<160> > > > > >(flash::enable_sm90_or_later<int>::Params)`
	fa2     = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4, false, false, " +
		"cutlass::bfloat16_t>, false>(flash::Flash_fwd_params)"
	mul = "void at::native::elementwise_kernel<128, 4, " +
		"at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, " +
		"at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"
)

func TestKernels(t *testing.T) {
	for _, c := range []struct{ name, short, category, family string }{
		{marlin, "marlin_moe_wna16::Marlin<128,1,8,4,t,4,2,f>", MoE, "marlin"},
		{grouped, "kernel::GemmUniversal<64,128>", MoE, "cutlass_grouped_gemm"},
		{fa3, "flash::FlashAttnFwdSm90<2,1,192,160>", Attention, "flash_attn_3"},
		{fa2, "flash::flash_fwd_splitkv_kernel…256,4,f,f,f>", Attention, "flash_attn_2"},
		{mul, "elementwise_kernel<Mul>", Other, ""},
		{"nvjet_sm90_tst_512x8_64x3_2x1_v_bz_TNT", "nvjet_sm90_tst_512x8_64x3_2x1_v_bz_TNT", DenseGEMM, "cublas"},
		{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, float, false, true, " +
			"7>(int)", "gemvx::kernel<f,t,7>", DenseGEMM, "cublas"},
		{
			"void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<1> >(int)",
			"flashinfer::BatchPrefillWithPag…cheKernel<1>", Attention, "flashinfer",
		},
		{"triton_red_fused_fused_add_rms_norm_0", "triton_red_fused_fused_add_rms_norm_0", NormActivation, "triton"},
		{
			"triton_poi_fused_constant_pad_nd_fused_add_rms_norm_moe_forward_1",
			"triton_poi_fused_constant_pad_n…oe_forward_1", NormActivation, "inductor",
		},
		{
			"void vllm::moe::topkGating<8, 32, 4, 16, 32, int, __nv_bfloat16, (vllm::moe::ScoringFunc)0>(int)",
			"moe::topkGating<8,32,4,16,32,0>", MoE, "",
		},
		{
			"void vllm::swigluoai_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 " +
				"vllm::swigluoai_and_mul<c10::BFloat16>(c10::BFloat16 const&, float))>(int)",
			"vllm::swigluoai_and_mul_kernel", NormActivation, "",
		},
		{
			"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)",
			"vllm::reshape_and_cache_flash_kernel<0>", Attention, "",
		},
		{
			"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllGather_RING_LL",
			Communication, "nccl",
		},
		{
			"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)",
			"vllm::cross_device_reduce_1stage<2>", Communication, "custom_all_reduce",
		},
		{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned " +
			"int, long, 4, 4> >(int)", "reduce_kernel<ArgMax>", Sampling, ""},
		{"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)", Memory, ""},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> " +
			">(int)", "vectorized_elementwise_kernel<Fill>", Memory, ""},
		{"reduce_segments", "reduce_segments", Attention, ""},
		{
			"void vllm::topKPerRowDecode<512, true, false>(float const*, int const*, int*)",
			"vllm::topKPerRowDecode<512,t,f>", Attention, "",
		},
		{
			"void vllm::persistent_topk_kernel<2048>(float const*, int*)", "vllm::persistent_topk_kernel<2048>",
			Attention,
			"",
		},
		{"_lora_shrink_kernel", "_lora_shrink_kernel", DenseGEMM, ""},
		{"_lora_expand_kernel", "_lora_expand_kernel", DenseGEMM, ""},
		{"_fused_moe_lora_shrink_kernel", "_fused_moe_lora_shrink_kernel", MoE, ""},
		{"_zero_kv_blocks_kernel", "_zero_kv_blocks_kernel", Memory, ""},
		{"_finalize_matmul_scatter_bf16", "_finalize_matmul_scatter_bf16", MoE, ""},
		// llama.cpp
		{
			"void mul_mat_vec_q<(ggml_type)39, 1, false, false>(void const*, void const*)",
			"mul_mat_vec_q<39,1,f,f>", MoE,
			"mmvq",
		},
		{"void mul_mat_q<(ggml_type)39, 128, false>(char const*)", "mul_mat_q<39,128,f>", MoE, "mmq"},
		{
			"void flash_attn_ext_f16<64, 64, 8, 8, false, false>(char const*)", "flash_attn_ext_f16<64,64,8,8,f,f>",
			Attention, "flash_attn_ext",
		},
		{"void rms_norm_f32<1024, true>(float const*, float*, int)", "rms_norm_f32<1024,t>", NormActivation, ""},
		{"quantize_mmq_mxfp4(float const*, int)", "quantize_mmq_mxfp4", MoE, ""},
		{"void mul_mat_q<(ggml_type)12, 39, false>(char const*)", "mul_mat_q<12,39,f>", DenseGEMM, "mmq"},
		// as Nsight tools spell them
		{
			"void mul_mat_vec_q<39, 1, 1, 0, 0>(const void *, const void *, const int *)", "mul_mat_vec_q<39,1,1,0,0>",
			MoE, "mmvq",
		},
		{
			"void mul_mat_vec_f<__nv_bfloat16, float, 1, 256, 1, 0>(const T1 *, const float *)",
			"mul_mat_vec_f<1,256,1,0>", DenseGEMM, "mmvf",
		},
		{"void mm_ids_helper<4>(const int *, int *, int *)", "mm_ids_helper<4>", MoE, ""},
		{"add_id_kernel(const float *, const float *, const int *)", "add_id_kernel", MoE, ""},
		{"void k_argsort_f32_i32<1>(const float *, int *, int, int)", "k_argsort_f32_i32<1>", MoE, ""},
		{"void at::native::radixSortKVInPlace<2, -1, 32, 4>(int)", "radixSortKVInPlace<2,-1,32,4>", Sampling, ""},
		// ROCm
		{
			"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_MT64x16x64", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S…V_MT64x16x64",
			DenseGEMM, "hipblaslt",
		},
		// the embedded engine
		{"linear_qkv_f32", "linear_qkv_f32", DenseGEMM, ""},
		{"lm_head_gemv_f32", "lm_head_gemv_f32", DenseGEMM, ""},
		{"moe_all_experts_mxfp4", "moe_all_experts_mxfp4", MoE, ""},
		{"router_topk_f32", "router_topk_f32", MoE, ""},
		{"_topk_forward", "_topk_forward", MoE, ""},
		{"_sum_bitmatrix_rows", "_sum_bitmatrix_rows", MoE, ""},
		{"_reduce_grouped", "_reduce_grouped", MoE, ""},
		{"_reduce", "_reduce", MoE, ""},
		{"_reduce_rows", "_reduce_rows", Other, ""},
		{"_bitmatrix_metadata_compute_stage2", "_bitmatrix_metadata_compute_stage2", MoE, ""},
		{"_ragged_tensor_metadata_memset", "_ragged_tensor_metadata_memset", MoE, ""},
		{
			"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)",
			"norm::FusedAddRMSNormKernel<8>", NormActivation, "flashinfer",
		},
		{
			"void (anonymous namespace)::store_kvcache<1024l, 1024l, 2, true, long>(int)",
			"store_kvcache<1024,1024,2,t>",
			Attention, "",
		},
		{"rope_kv_store_f32", "rope_kv_store_f32", Attention, ""},
		{"decode_attention_kvcache_f32", "decode_attention_kvcache_f32", Attention, ""},
		{"rmsnorm_f32", "rmsnorm_f32", NormActivation, ""},
		{"sampler_choose", "sampler_choose", Sampling, ""},
		{"my_kernel", "my_kernel", Other, ""},
		{"", "", Other, ""},
	} {
		if got := Short(c.name); got != c.short {
			t.Errorf("%.60s is shown as %q, want %q", c.name, got, c.short)
		}
		if got := Rules(nil).Category(c.name); got != c.category {
			t.Errorf("%.60s is %q, want %q", c.name, got, c.category)
		}
		if c.family != "" && !Match(c.family, c.name) {
			t.Errorf("%.60s is not of the family %s", c.name, c.family)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"flash_attn_3", fa2, false},
		{"flash_attn_2", fa3, false},
		{"cutlass_grouped_gemm", fa3, false},
		{"MARLIN", marlin, true},
		{"*cutlass*grouped*", grouped, false},
		{"cutlass*GroupProblemShape", grouped, true},
		{"marlin_moe*128, 1, 8", marlin, true},
		{"marlin_moe*128, 1, 4, 8", marlin, false},
		{"", marlin, false},
		{"*", marlin, true},
	} {
		if Match(c.pattern, c.name) != c.want {
			t.Errorf("%q on %.60s: want %v", c.pattern, c.name, c.want)
		}
	}
}

// TestRules: a plan's rules come first, and may name their own categories.
func TestRules(t *testing.T) {
	own := Rules{{"Marlin*128, 1, 8", "gate_up"}, {"my_*", Attention}}
	for name, want := range map[string]string{marlin: "gate_up", "my_kernel": Attention, fa3: Attention} {
		if got := own.Category(name); got != want {
			t.Errorf("%.40s is %q, want %q", name, got, want)
		}
	}
	// Ours are in lower case, as names are compared.
	for _, r := range rules {
		for _, g := range r.globs {
			if g != strings.ToLower(g) || !slices.Contains(Categories, r.category) {
				t.Errorf("rule %v: in lower case, and of our categories", r)
			}
		}
	}
	for name, globs := range families {
		for _, g := range globs {
			if g != strings.ToLower(g) || name != strings.ToLower(name) {
				t.Errorf("family %s: %q is not in lower case", name, g)
			}
		}
	}
}

func FuzzShort(f *testing.F) {
	for _, s := range []string{
		marlin, grouped, fa3, mul, "a<b", "_ZN9999", "void <(>", ">>((", "a -> b<",
		strings.Repeat("a<", 5000),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		short := Short(name)
		if utf8.RuneCountInString(short) > shortest || !utf8.ValidString(short) {
			t.Errorf("%q is shown as %q", name, short)
		}
		Rules(nil).Category(name)
		Match("marlin", name)
	})
}

// TestManual: the manual names every family and category.
func TestManual(t *testing.T) {
	page, err := os.ReadFile("../../../docs/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(slices.Collect(maps.Keys(families)), Categories...) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/profiles.md does not name %s", name)
		}
	}
}
