"""A graph whose one kernel is a small loop in C++."""

from pathlib import Path

KERNEL = "cpp_fused_sin_0"
SOURCE = """
#include <cmath>
extern "C"  void kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    {
        for(long x0=0; x0<1024; x0+=1)
        {
            auto tmp0 = in_ptr0[x0];
            auto tmp1 = std::sin(tmp0);
            out_ptr0[x0] = tmp1;
        }
    }
}
"""


def write_code(folder: Path) -> Path:
    """Writes the output code of a graph into a debug folder."""
    code = folder / "model__0_inference_0.0" / "output_code.py"
    code.parent.mkdir(parents=True)
    arguments = "['const float*', 'float*']"
    code.write_text(
        "from torch._inductor.async_compile import AsyncCompile\nasync_compile = AsyncCompile()\n"
        f"{KERNEL} = async_compile.cpp_pybinding({arguments}, r'''{SOURCE}''')\n\n"
        f"async_compile.wait(globals())\ndef call(args):\n    {KERNEL}(arg0_1, buf0)\n"
    )
    return code
