"""What modules and kernels print when they benchmark themselves, shortened."""

PROFILE = """\
0.001023
Peak GPU memory usage 200.960 MB
/opt/lib/python3.12/site-packages/torch/profiler/profiler.py:224: UserWarning: Warning: Profiler …
  _warn_once(
0.002092
Profiling result for a compiled module of benchmark None:
Chrome trace for the profile is written to /tmp/compiled_module_profile.json
------------------------  ------------  ------------  ------------  ------------  ----------------
                    Name      Self CPU     CPU total    CUDA total    # of Calls      Input Shapes
------------------------  ------------  ------------  ------------  ------------  ----------------
             aten::addmm       5.865ms       7.832ms       1.929ms           400  [[256], [], [1]]
nvjet_sm90_tst_64x48_...       0.000us       0.000us       3.244ms           800                []
------------------------  ------------  ------------  ------------  ------------  ----------------
Self CPU time total: 113.581ms
Self CUDA time total: 18.724ms


  == triton_pointwise category kernels == 
Kernel                            Self CUDA TIME (ms)    Count  Percent
------------------------------  ---------------------  -------  ---------
triton_poi_fused_gelu_view_10              0.010586          4  1.04%
triton_poi_fused_arange_2                  6.5092e-05        1.5  0.01%
Total                                      0.010651             1.05%

  == unknown category kernels == 
Kernel                                                   Self CUDA TIME (ms)    Count  Percent
-----------------------------------------------------  ---------------------  -------  ---------
void at::native::kernel<128, 4, at::native::copy(at::T             0.0324357         8  3.17%
Memset (Device)                                                    0.00320096        4  0.31%
Total                                                              0.035636             3.48%

Percent of time when CUDA is busy: 4.53%
Total wall time 1.023 ms
Output for tabulate: None, 1.05%, 0.00%, 0.00%, 0.00%, 3.48%, 4.53%, 1.023ms
"""
KERNELS = (
    "None                 UNK c7fweebsor 0.003ms    \t0.000 GB \t   88.09GB/s"
    "    6 regs    0 spills         0 shared mem\n"
    "\x1b[31mgpt layer one        POI ct6punxkug 0.014ms    \t0.005 GB \t  345.56GB/s"
    "  156 regs    2 spills      4096 shared mem\x1b[39m\n"
)
CONFIGS = """\
None                 RED cpxub2atgo
  0.005ms    \t0.002 GB \t  302.83GB/s   32 regs    0 spills    256 shared mem @ XBLOCK: 1
  0.006ms    \t0.002 GB \t  251.00GB/s @ XBLOCK: 8, num_warps: 2
"""
BANDWIDTH = """\
====================
TRITON KERNELS BANDWIDTH INFO (/tmp/torchinductor_user/ab/cab.py)
0.100ms    \t0.250 GB \t 2500.00GB/s \t 82.44% \t triton_red_fused_sum_1
0.021ms    \t0.002 GB \t   95.77GB/s \t 17.56% \t triton_poi_fused_add_relu_0
SUMMARY (/tmp/torchinductor_user/ab/cab.py)
0.12ms   \t 0.25 GB\t 2077.82GB/s

"""
