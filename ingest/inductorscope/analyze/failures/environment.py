"""Failures caused by the machine rather than the program, and how to fix them."""

import re

import msgspec

from inductorscope.fields import Hidden, Prose


class Fix(msgspec.Struct, frozen=True):
    """A fault of the environment."""

    what: Prose
    do: Prose
    evidence: Hidden[str] = ""
    """The words that identify it."""


_COMPILER = (
    "Install one (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++; macOS: "
    "xcode-select --install), or set the environment variable CXX to yours."
)
_TABLE: tuple[tuple[str, str, str], ...] = (
    (
        r"Python\.h: No such file|'Python\.h' file not found",
        "The C++ compiler does not find Python's headers.",
        "Install them (Debian, Ubuntu: apt-get install python3-dev; Fedora: dnf install "
        "python3-devel) for the Python version that runs torch.",
    ),
    (
        r"CalledProcessError: Command '\[[^\n]{0,200}(?:gcc|cc|clang)'?,[^\n]{0,200}/main\.c",
        "The C compiler could not build a helper of Triton. Its own message is not in this text.",
        "Most often Python's headers are missing. Install them (Debian, Ubuntu: apt-get install "
        "python3-dev; Fedora: dnf install python3-devel) for the Python version that runs torch. "
        "Otherwise look for the compiler's message in the program's output.",
    ),
    (
        r"omp\.h: No such file|'omp\.h' file not found|cannot find -l(?:g|i)?omp5?\b"
        r"|library not found for -lomp|library 'omp' not found",
        "The C++ compiler does not find OpenMP.",
        "Install it (with g++ it is libgomp, part of gcc; with clang: apt-get install libomp-dev; "
        "macOS: brew install libomp and set OMP_PREFIX to its folder).",
    ),
    (
        r"No working C\+\+ compiler found in [\w.]{1,60}: \([^)\n]{0,200}'/[^'\n]{1,200}'",
        "The C++ compiler that CXX names does not work.",
        "Correct the environment variable CXX (or torch._inductor.config.cpp.cxx), or leave it "
        "out: torch then takes g++ or clang++.",
    ),
    (
        r"InvalidCxxCompiler|No working C\+\+ compiler found|Compiler: \S+ is not found"
        r"|(?:g\+\+|clang\+\+|c\+\+): (?:command )?not found"
        r"|No such file or directory: '(?:\S*/)?(?:g\+\+|clang\+\+|c\+\+|x86_64[\w-]*-c\+\+)'",
        "There is no working C++ compiler.",
        _COMPILER,
    ),
    (
        r"Failed to find C compiler",
        "Triton finds no C compiler, which it needs to build its launchers.",
        "Install gcc (Debian, Ubuntu: apt-get install gcc), or set the environment variable CC "
        "to a compiler.",
    ),
    (
        r"TritonMissing|Cannot find a working triton installation|No module named 'triton'",
        "Triton is not installed, or too old for this torch.",
        "Install the version that this torch requires: pip install triton (torch wheels for CUDA "
        "include it).",
    ),
    (
        r"GPUTooOldForTriton|too old to be supported by the triton",
        "This GPU is too old for Triton.",
        "Compile for another device, or do without Inductor's GPU backend "
        '(torch.compile(backend="aot_eager")).',
    ),
    (
        r"Cannot find ptxas|No such file or directory: '(?=[^\s']*ptxas)[^\s']++'|ptxas: not found",
        "NVIDIA's assembler ptxas is not found.",
        "Set TRITON_PTXAS_PATH to its path. It comes with Triton's wheel and the CUDA toolkit.",
    ),
    (
        r"libcuda\.so(?:\.1)? cannot found|libcuda\.so cannot found|cannot find -lcuda\b"
        r"|libcuda\.so\.1: cannot open shared object",
        "The CUDA driver's library libcuda.so is not found.",
        "Install the driver, or pass it to the container (--gpus all). If it is in another folder, "
        "set LIBRARY_PATH and TRITON_LIBCUDA_PATH to it.",
    ),
    (
        r"nvcc: not found|CUDA_HOME environment variable is not set"
        r"|cuda(?:_runtime)?\.h: No such file|No such file or directory: '\S*nvcc'"
        r"|cannot find -lcudart\b|libnvrtc\S{0,100}: cannot open",
        "The CUDA toolkit is not found.",
        "Install the toolkit of the version in torch.version.cuda and set CUDA_HOME to its folder.",
    ),
    (
        r"No space left on device|Errno 28\b|Disk quota exceeded",
        "The disk is full.",
        "Free some space, or set TORCHINDUCTOR_CACHE_DIR and TMPDIR to folders on another disk.",
    ),
    (
        r"(?:Permission denied|Read-only file system)[^\n]{0,80}"
        r"(?:torchinductor|/tmp|\.triton|cache)",
        "The folder for compiled kernels is not writable.",
        "Set TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR to folders you can write to.",
    ),
    (
        r"Killed signal terminated program cc1plus|virtual memory exhausted"
        r"|out of memory allocating \d+ bytes"
        r"|(?:g\+\+|c\+\+|clang\S{0,100}): (?:fatal )?error: Killed",
        "The C++ compiler ran out of memory.",
        "Compile fewer kernels at a time (TORCHINDUCTOR_COMPILE_THREADS=1), or add memory.",
    ),
    (
        r"version `(?:GLIBCXX|CXXABI)_\S+' not found",
        "The loaded C++ library is older than the one the kernel was built with.",
        "Put the newer libstdc++ first in LD_LIBRARY_PATH, or build with the compiler that belongs "
        "to the loaded one.",
    ),
    (
        r"unrecognized command[- ]line option|unknown argument: '-std=c\+\+\d\d'"
        r"|invalid value 'c\+\+\d\d'",
        "The C++ compiler is too old for the options that torch gives it.",
        "Install a newer one (at least g++ 11 or clang 14) and set CXX to it.",
    ),
    (
        r"\(INDUCTORSCOPE_CAPTURE_(?:BYTES|SECONDS)\)",
        "The capture reached its limit.",
        "Raise the setting that the message names, or let the program do less.",
    ),
)
_PATTERNS = tuple((re.compile(pattern), what, do) for pattern, what, do in _TABLE)
# ciqoo.cpp:29:10: fatal error: tbb/tbb.h: No such file or directory
_HEADER = re.compile(
    r"fatal error: '?([\w./+-]{1,200})'?(?:: No such file or directory| file not found)"
)
LONGEST = 1_000_000


def fix_for(text: str) -> Fix | None:
    """The first fault of the environment that the text mentions."""
    text = text[:LONGEST]
    for pattern, what, do in _PATTERNS:
        match = pattern.search(text)
        if match is not None:
            return Fix(what, do, _line(text, match.start()))
    header = _HEADER.search(text)
    if header is None:
        return None
    return Fix(
        f"The C++ compiler does not find the header {header.group(1)}.",
        "Install the package that has it, or add its folder to CPLUS_INCLUDE_PATH.",
        _line(text, header.start()),
    )


def _line(text: str, position: int) -> str:
    start = text.rfind("\n", max(0, position - 500), position) + 1
    end = text.find("\n", position, position + 500)
    return text[start : end if end >= 0 else position + 500].strip()
