"""The kernel that candidates are judged against: small, of a program with symbolic sizes."""

from pathlib import Path

from inductorscope.analyze.benchmark.case import KernelCase, case_texts, kernel_case
from inductorscope.analyze.judging.shapes import cases_at_shapes
from inductorscope.capturing.benchmark.text import case_text

FOLDER = Path(__file__).parents[2] / "tests" / "fixtures" / "judged"
KERNEL = "cpp_fused_abs_add_amax_clamp_clone_mul_sigmoid_t_0"
ORIGIN = "bench.judge"
_FILES = {
    "code": "output_code.py",
    "ir_post": "ir_post_fusion.txt",
    "post_grad": "fx_graph_transformed.py",
}


def cases() -> list[KernelCase]:
    texts = case_texts({role: (FOLDER / name).read_text() for role, name in _FILES.items()})
    recorded = kernel_case(texts, KERNEL, 1)
    return [recorded, *cases_at_shapes(texts, recorded, {}, [])]


def definition(case: KernelCase) -> str:
    return "\n".join(case.definition)


def whole(case: KernelCase, before: str, kernel: str) -> str:
    """Returns the test case with its function `kernel` replaced: `before` comes first, and
    `kernel` is the function's body, in which `honest(given)` is the original."""
    text = case_text(case, ORIGIN).replace("def kernel(given):", "def honest(given):")
    head, _, tail = text.rpartition("if __name__ ==")
    body = "\n".join(f"    {line}" for line in kernel.strip().splitlines())
    return f"{head}{before.strip()}\n\n\ndef kernel(given):\n{body}\n\n\nif __name__ =={tail}"
