"""The gallery of lessons."""

from textwrap import dedent

import msgspec

from inductorscope.fields import Prose


class Lesson(msgspec.Struct, frozen=True):
    """A program that a person can start from."""

    id: str
    title: str
    look: Prose
    """What to look for."""
    code: str
    options: dict[str, str] = msgspec.field(default_factory=dict)
    """Options other than the defaults, by their name in the form."""


def _lesson(id: str, title: str, look: str, code: str, **options: str) -> Lesson:
    text = f"# {title}\nimport torch\n\n\n{dedent(code).strip()}\n"
    return Lesson(id, title, look, text, options)


LESSONS = [
    _lesson(
        "fusion", "Fusion",
        "Four operations become one loop: every line has its colour in the same kernel, and no "
        "intermediate tensor is written to memory.",
        """
        def f(x, y):
            total = x + y
            positive = torch.relu(total)
            scaled = positive * 0.5
            return scaled - y


        inputs = torch.randn(256, 256), torch.randn(256, 256)
        """,
    ),
    _lesson(
        "reduction", "Why a reduction splits",
        "A sum over everything has no loop left to share among threads. Inductor sums pieces first "
        "and then their sums; set split_reductions to False to see one loop instead.",
        """
        def f(x):
            return (x * x).sum()


        inputs = torch.randn(2_000_000)
        """,
    ),
    _lesson(
        "layout", "Layout",
        "The transposed tensor is read with a stride: compare the index in the kernel with that of "
        "x, and see that contiguous() costs a loop that copies.",
        """
        def f(x, y):
            turned = x.t().contiguous()
            return turned + y.t()


        inputs = torch.randn(300, 200), torch.randn(300, 200)
        """,
    ),
    _lesson(
        "casts", "dtype casts",
        "The tensors are bfloat16, yet the kernel computes in float32: it converts after each load "
        "and once before it stores.",
        """
        def f(x, weight):
            mean = x.pow(2).mean(-1, keepdim=True)
            return x * torch.rsqrt(mean + 1e-6) * weight


        inputs = torch.randn(64, 512), torch.randn(512)
        """,
        dtype="bfloat16",
    ),
    _lesson(
        "break", "Graph break",
        "print cannot be compiled, so the function becomes two graphs. Choose the other one below "
        "the kernels, and delete the line to have one graph.",
        """
        def f(x):
            hidden = torch.sin(x) + 1
            print("shape", tuple(hidden.shape))
            return torch.cos(hidden) * hidden


        inputs = torch.randn(128, 64)
        """,
    ),
    _lesson(
        "recompile", "Recompile",
        "The graph depends on the text that is passed, so another text compiles again: the run's "
        "page Compiling says which guard failed. Pass the same text twice to compile once.",
        """
        def f(x, name):
            return x.sin() if name == "sine" else x.cos() * 2


        inputs = [(torch.randn(512), "sine"), (torch.randn(512), "cosine")]
        """,
    ),
    _lesson(
        "dynamic", "Dynamic shapes",
        "With dynamic shapes the kernel gets its size as an argument, ks0, and serves both calls. "
        "Set Dynamic to never, and each size gets a graph.",
        """
        def f(x):
            return torch.softmax(x * 2, dim=-1)


        inputs = [(torch.randn(32, 100),), (torch.randn(48, 100),)]
        """,
        dynamic="true",
    ),
    _lesson(
        "vectors", "Vectorisation on a CPU",
        "at::vec::Vectorized loads, computes and stores several numbers at once, and a second loop "
        "takes the rest. Set cpp.simdlen to 0 to see the loop without vectors.",
        """
        def f(x, y):
            return torch.exp(-torch.abs(x - y))


        inputs = torch.randn(1000, 37), torch.randn(1000, 37)
        """,
    ),
    _lesson(
        "epilogue", "Epilogue fusion with max-autotune",
        "With max-autotune the matrix product may become a template of Inductor's own, which "
        "computes bias and activation before it stores; in the default mode they are a kernel "
        "after the library's call. Autotuning takes longer.",
        """
        f = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU()).eval()
        for parameter in f.parameters():
            parameter.requires_grad_(False)

        inputs = torch.randn(128, 256)
        """,
        mode="max-autotune-no-cudagraphs",
    ),
    _lesson(
        "inplace", "In-place reuse",
        "Nothing reads the first product after tanh, so the kernel writes over it: look for "
        "in_out_ptr0 in the kernel and for “reuse” in the wrapper.",
        """
        def f(x, weight):
            hidden = torch.mm(x, weight)
            hidden = torch.tanh(hidden) + 1
            return torch.mm(hidden, weight)


        inputs = torch.randn(128, 128), torch.randn(128, 128)
        """,
    ),
]  # fmt: skip
