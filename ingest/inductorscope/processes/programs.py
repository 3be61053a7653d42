"""Starts modules of this package as programs, and decides which environment they get."""

import os
import sys

from inductorscope.settings import PREFIX

MARK = "SCOPE_JOB"
"""Variable by which the processes of a job are found. Its name must not contain "INDUCTOR",
"TORCH", "DYNAMO" or "TRITON": torch writes such variables into what it dumps."""

SCRATCH = "SCOPE_SCRATCH"
"""Variable with the folder for temporary files of a job."""

EXPORTS_FOR = "SCOPE_EXPORTS_FOR"
"""Variable with the person for whom the web process exports, as JSON."""
NO_PAGE = 5
"""Exit code of an export if there is nothing at its address; no other command uses it."""

_NAMES = frozenset({
    # the system
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP",
    "VIRTUAL_ENV", "CONDA_PREFIX", "MALLOC_CONF", "SSL_CERT_FILE", "SSL_CERT_DIR",
    # compilers, linkers and loaders
    "CC", "CXX", "CPP", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "SDKROOT",
    "DEVELOPER_DIR", "CCACHE_DIR", "MAX_JOBS",
    # Hugging Face: its folders, but no credentials
    "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_DATASETS_CACHE", "HF_DATASETS_OFFLINE",
    "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "TRANSFORMERS_OFFLINE",
    MARK,
})  # fmt: skip
_PREFIXES = (
    "LC_", "LD_", "DYLD_", "MALLOC_", "XDG_", "PYTHON",
    "TORCH", "PYTORCH_", "INDUCTOR_", "AOT_INDUCTOR_", "AOTINDUCTOR_", "DYNAMO_", "TRITON_",
    "ATEN_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "ONEDNN_", "DNNL_",
    "CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_", "NVCC_", "ROCM_", "ROCR_", "HIP_", "HSA_",
    "AMD_", "MIOPEN_", "GPU_", "ZE_", "SYCL_", "ONEAPI_",
)  # fmt: skip
_SECRET = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "ACCESS_KEY")


def program(module: str, *arguments: str) -> list[str]:
    """Returns the command that runs a module. Modules are not searched in the working folder, which
    may hold uploaded files."""
    return [sys.executable, "-P", "-m", module, *arguments]


def needed_variables() -> dict[str, str]:
    """Returns the environment of a program that runs torch for somebody else.

    Torch writes parts of its environment into what it dumps, and everybody who can open the run can
    read that. So only listed variables pass; our settings, tokens and passwords are not among them.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if (name in _NAMES or name.startswith(_PREFIXES))
        and not name.startswith(PREFIX)
        and not any(word in name for word in _SECRET)
    }


def variables_for(trusted: bool) -> dict[str, str]:
    """Returns the environment of a captured program: if a person at the machine runs it, theirs
    without our settings."""
    if not trusted:
        return needed_variables()
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
