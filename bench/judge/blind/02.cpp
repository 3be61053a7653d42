#include <torch/csrc/inductor/aoti_runtime/utils.h>
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const float* in_ptr0,
                       const float* in_ptr1,
                       float* out_ptr0,
                       float* out_ptr1,
                       const int64_t ks0,
                       const int64_t ks1)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
    torch::aot_inductor::RAIIAtenRecordFunctionHandle record_graph_0_cpp_fused_abs_add_amax_clamp_clone_mul_sigmoid_t_0_("graph_0_cpp_fused_abs_add_amax_clamp_clone_mul_sigmoid_t_0", nullptr);
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(ks0*ks1); x0+=static_cast<int64_t>(1L))
        {
            {
                {
                    auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
                    auto tmp2 = in_ptr1[static_cast<int64_t>(x0)];
                    auto tmp1 = decltype(tmp0)(1) / (decltype(tmp0)(1) + std::exp(-tmp0));
                    auto tmp3 = float(tmp1 * tmp2);
                    auto tmp4 = std::abs(tmp0);
                    auto tmp5 = static_cast<float>(0.5);
                    auto tmp6 = min_propagate_nan(tmp4, tmp5);
                    auto tmp7 = float(tmp3 + tmp6);
                    out_ptr0[static_cast<int64_t>(x0)] = tmp7;
                }
            }
        }
    }
    {
        const int64_t row_quads = ks0 / 4;
        for(int64_t x0=0; x0<ks1; ++x0)
        {
            // rows are whole float4 groups
            const float* row = out_ptr0 + 4 * (row_quads * x0);
            float tmp_acc0 = -std::numeric_limits<float>::infinity();
            for(int64_t x1=0; x1<ks0; ++x1)
            {
                tmp_acc0 = max_propagate_nan(tmp_acc0, row[x1]);
            }
            out_ptr1[x0] = tmp_acc0;
        }
    }
    inductor_cpu_integer_div_error_flag = nullptr;
    inductor_cpu_throw_if_integer_div_error(inductor_cpu_integer_div_error);
}
