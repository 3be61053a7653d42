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
    auto point = [&](int64_t idx) -> float
    {
        auto tmp0 = in_ptr0[static_cast<int64_t>(idx)];
        auto tmp2 = in_ptr1[static_cast<int64_t>(idx)];
        auto tmp1 = decltype(tmp0)(1) / (decltype(tmp0)(1) + std::exp(-tmp0));
        auto tmp3 = float(tmp1 * tmp2);
        auto tmp4 = std::abs(tmp0);
        auto tmp5 = static_cast<float>(0.5);
        auto tmp6 = min_propagate_nan(tmp4, tmp5);
        return float(tmp3 + tmp6);
    };
    {
        auto do_row = [&](int64_t x0)
        {
            float tmp_acc0 = -std::numeric_limits<float>::infinity();
            for(int64_t x1=0; x1<ks0; ++x1)
            {
                const float tmp7 = point(x1 + ks0*x0);
                out_ptr0[x1 + ks0*x0] = tmp7;
                tmp_acc0 = max_propagate_nan(tmp_acc0, tmp7);
            }
            out_ptr1[x0] = tmp_acc0;
        };
        const int64_t blocks = ks1 / 32;
        #pragma omp parallel for
        for(int64_t b=0; b<blocks; ++b)
        {
            for(int64_t r=0; r<32; ++r) do_row(32*b + r);
        }
        if (ks1 % 32 != 0) do_row(32*blocks);
    }
    inductor_cpu_integer_div_error_flag = nullptr;
    inductor_cpu_throw_if_integer_div_error(inductor_cpu_integer_div_error);
}
