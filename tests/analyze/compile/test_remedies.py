"""Each remedy for recompiles, held by compiling for real: once as it is, once with the remedy."""

import logging
import textwrap
from dataclasses import dataclass
from typing import Any

import pytest
from inductorscope.analyze.compile.model import Compile
from inductorscope.analyze.compile.recompiles import History, NeededCompile, changes_of
from inductorscope.analyze.compile.remedies import RARE, REMEDIES, kind_of, remedy_for
from inductorscope.formats.log.guard_failures import GuardFailure, read_guard_failures

pytestmark = pytest.mark.torch


@dataclass(frozen=True)
class Case:
    """A program that compiles again, and what the remedy makes of it.

    `setup` defines `call(value)`, which calls a compiled function; `compiled` compiles.
    """

    kind: str
    setup: str
    values: str
    compiles: int
    words: str
    """The remedy contains them."""
    mended: str = ""
    """The setup with the remedy; the same if only the values change."""
    mended_values: str = ""
    mended_compiles: int = 1


ONE = "f = compiled(lambda x: x * 2)\ndef call(x): f(x)"
SIZES = "torch.ones(4, 3), torch.ones(5, 3), torch.ones(6, 3)"
MODULE = """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 0
    def forward(self, x):
        return x * self.k
m = M()
f = compiled(m)
def call(k):
    m.k = k
    f(torch.ones(3))
"""
OPTIMIZER = """
weight = torch.nn.Parameter(torch.ones(3))
weight.grad = torch.ones(3)
optimizer = torch.optim.SGD([weight], lr=LR, momentum=0.9)
f = compiled(optimizer.step, lowered=True)
def call(lr):
    optimizer.param_groups[0]SET
    f()
"""
MASKED = """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = MADE
    def forward(self, x):
        if self.mask is None:
            self.mask = torch.ones(3)
        return x * self.mask
f = compiled(M())
def call(x): f(x)
"""
CASES = (
    Case("size", ONE, SIZES, 2, "torch._dynamo.mark_dynamic(x, 0)",
         "f = compiled(lambda x: x * 2)\n"
         "def call(x):\n    torch._dynamo.mark_dynamic(x, 0)\n    f(x)"),
    Case("size", ONE, SIZES, 2, "dynamic=True",
         "f = compiled(lambda x: x * 2, dynamic=True)\ndef call(x): f(x)"),
    Case("size 1", "f = compiled(lambda x: x * 2, dynamic=True)\ndef call(x): f(x)",
         "torch.ones(4), torch.ones(1)", 2, "torch._dynamo.decorators.mark_unbacked(x, 0)",
         "f = compiled(lambda x: x * 2)\n"
         "def call(x):\n    torch._dynamo.decorators.mark_unbacked(x, 0)\n    f(x)"),
    Case("condition", "f = compiled(lambda x: x * 2 if x.size(0) > 8 else x, dynamic=True)\n"
         "def call(x): f(x)", "torch.ones(4), torch.ones(12)", 2, "torch.where",
         "f = compiled(lambda x, n: torch.where(n > 8, x * 2, x), dynamic=True)\n"
         "def call(x): f(x, torch.tensor(x.size(0)))"),
    Case("stride", ONE, "torch.ones(3, 4), torch.ones(4, 3).t()", 2, "`x.contiguous()`",
         mended_values="torch.ones(3, 4), torch.ones(4, 3).t().contiguous()"),
    Case("rank", ONE, "torch.ones(6), torch.ones(2, 3)", 2, "reshape",
         mended_values="torch.ones(6), torch.ones(2, 3).reshape(6)"),
    Case("number", "f = compiled(lambda x, t: x * t)\ndef call(t): f(torch.ones(3), t)",
         "1.0, 1.1, 1.2", 2, "`torch.tensor(t)`",
         mended_values="torch.tensor(1.0), torch.tensor(1.1), torch.tensor(1.2)"),
    Case("number", "f = compiled(lambda x, t: x * t)\ndef call(t): f(torch.ones(3), t)",
         "2, 3, 4", 2, "`torch.tensor(t)`",
         mended_values="torch.tensor(2), torch.tensor(3), torch.tensor(4)"),
    Case("number", "def call(k):\n    def g(x): return x * k\n    compiled(g)(torch.ones(3))",
         "2, 3", 2, "`torch.tensor(k)`", mended_values="torch.tensor(2), torch.tensor(3)"),
    Case("constant", "f = compiled(lambda x, t: x * 2 if t == 'a' else x + 1)\n"
         "def call(t): f(torch.ones(3), t)", "'a', 'b', 'a', 'b'", 2, "one function for each",
         "made = {'a': compiled(lambda x: x * 2), 'b': compiled(lambda x: x + 1)}\n"
         "def call(t): made[t](torch.ones(3))", mended_compiles=2),
    Case("switch", "f = compiled(lambda x, on: x * 2 if on else x + 1)\n"
         "def call(on): f(torch.ones(3), on)", "True, False, True", 2, "`torch.where`",
         "f = compiled(lambda x, on: torch.where(on, x * 2, x + 1))\n"
         "def call(on): f(torch.ones(3), torch.tensor(on))"),
    Case("option", OPTIMIZER.replace("LR", "0.1").replace("SET", "['lr'] = lr"),
         "0.1, 0.2, 0.3, 0.4", 5, "`lr=torch.tensor(…)`",
         OPTIMIZER.replace("LR", "torch.tensor(0.1)").replace("SET", "['lr'].fill_(lr)"),
         mended_compiles=2),
    Case("default", "f = compiled(lambda g, x: g(x))\n"
         "def call(k):\n    def g(x, k=k): return x * k\n    f(g, torch.ones(3))", "2, 3, 4", 3,
         "pass it the value as a tensor", "f = compiled(lambda x, k: x * k)\n"
         "def call(k): f(torch.ones(3), torch.tensor(k))"),
    Case("attribute", MODULE, "2, 3, 4, 5", 4, ".register_buffer('k', torch.tensor(…))`",
         MODULE.replace("self.k = 0", "self.register_buffer('k', torch.tensor(0))")
         .replace("m.k = k", "m.k.fill_(k)")),
    Case("global", "K = 1\ndef g(x): return x * K\nf = compiled(g)\n"
         "def call(k):\n    global K\n    K = k\n    f(torch.ones(3))", "1, 2, 3", 3,
         "`torch.tensor(K)`", "f = compiled(lambda x, k: x * k)\n"
         "def call(k): f(torch.ones(3), torch.tensor(k))"),
    Case("none", MASKED.replace("MADE", "None"), "torch.ones(3), torch.ones(3)", 2, "`__init__`",
         MASKED.replace("MADE", "torch.ones(3)")),
    Case("training", "m = torch.nn.Dropout()\nf = compiled(m)\n"
         "def call(on):\n    m.train(on)\n    f(torch.ones(3))", "True, False, True, False", 2,
         "needed", mended_values="True, False", mended_compiles=2),
    Case("length", "f = compiled(lambda xs: sum(xs))\ndef call(n): f([torch.ones(3)] * n)",
         "2, 3, 4", 3, "`torch.stack(xs)`",
         "f = compiled(lambda xs: xs.sum(0))\n"
         "def call(n):\n    x = torch.stack([torch.ones(3)] * n)\n"
         "    torch._dynamo.mark_dynamic(x, 0)\n    f(x)"),
    Case("keys", "f = compiled(lambda xs: sum(x * 2 for x in xs.values()))\n"
         "def call(names): f({name: torch.ones(3) for name in names})",
         "'ab', 'ac', 'bc'", 3, "the same keys",
         "f = compiled(lambda xs: sum(x * 2 for x in xs.values()))\n"
         "def call(names):\n"
         "    f({name: torch.ones(3) * (name in names) for name in 'abc'})"),
    Case("dtype", ONE, "torch.ones(3), torch.ones(3, dtype=torch.float64)", 2, "`x.to(dtype)`",
         mended_values="torch.ones(3), torch.ones(3, dtype=torch.float64).to(torch.float32)"),
    Case("requires_grad", ONE, "torch.ones(3), torch.ones(3, requires_grad=True)", 2,
         "`x.detach()`",
         mended_values="torch.ones(3), torch.ones(3, requires_grad=True).detach()"),
    Case("frozen", "m = torch.nn.Linear(3, 3)\nf = compiled(m)\n"
         "def call(on):\n    m.requires_grad_(on)\n    f(torch.ones(3))", "False, True, False", 2,
         "freeze before the first call", mended_values="True, True, True"),
    Case("dispatch_key_set", ONE, "torch.ones(3), torch.ones(3, device='meta')", 2,
         "`x.to(device)`", mended_values="torch.ones(3), torch.ones(3, device='cpu')"),
    Case("item", "f = compiled(lambda x, at: x[[at[0], at[1]]])\n"
         "def call(at): f(torch.ones(9), at)", "(1, 2), (3, 4), (1, 5)", 3,
         "as one tensor: `torch.tensor(at)`",
         "f = compiled(lambda x, at: x[at])\ndef call(at): f(torch.ones(9), torch.tensor(at))"),
    Case("inference", "f = compiled(lambda x: x * 2)\noutside = torch.ones(3)\n"
         "@torch.inference_mode()\ndef call(inside): f(torch.ones(3) if inside else outside)",
         "False, True, True", 2, "under `torch.inference_mode()` too",
         mended_values="True, True, True"),
    Case("grad_mode", "f = compiled(lambda x: x * 2)\n"
         "def call(on):\n    with torch.set_grad_enabled(on): f(torch.ones(3))", "True, False", 2,
         "always or never under `torch.no_grad()`", mended_values="False, False"),
    Case("global state", "f = compiled(lambda x: x @ x)\n"
         "def call(on):\n    with torch.autocast('cpu', enabled=on): f(torch.ones(3, 3))",
         "False, True", 2, "before the first call", mended_values="True, True"),
    Case("type", "f = compiled(lambda x, t: x * t, dynamic=True)\ndef call(t): f(torch.ones(3), t)",
         "2, 2.5", 2, "the same type", mended_values="2.0, 2.5"),
    Case("object", "class K: pass\nf = compiled(lambda x, k: x * 2 if k else x)\n"
         "def call(k): f(torch.ones(3), k)", "K, type('L', (), {})", 2, "the same object",
         mended_values="K, K"),
    Case("alias", "f = compiled(lambda x, y: x * y)\n"
         "def call(two):\n    x = torch.ones(3)\n    f(x, torch.ones(3) if two else x)",
         "False, True", 2, ".clone()", mended_values="True, True"),
)  # fmt: skip


class Reasons(logging.Handler):
    """Keeps torch's own texts on recompiles."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[GuardFailure] = []

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage().partition("guard failure(s):\n")[2]
        self.failures += read_guard_failures(textwrap.dedent(said))[:1]


def compiles(setup: str, values: str) -> tuple[int, list[GuardFailure]]:
    """Returns how often the calls compile, and the guards that failed."""
    import torch

    torch._dynamo.reset()
    torch._logging.set_logs(recompiles=True)
    log = logging.getLogger("torch._dynamo.guards.__recompiles")
    reasons, before, made = Reasons(), (log.handlers, log.propagate), []

    def backend(graph: Any, inputs: object) -> Any:
        made.append(graph)
        return graph

    def compiled(function: Any, *, lowered: bool = False, **options: Any) -> Any:
        from torch._dynamo.backends.debugging import aot_eager

        def lowering(graph: Any, inputs: Any) -> Any:
            made.append(graph)
            return aot_eager(graph, inputs)

        chosen = lowering if lowered else backend
        return torch.compile(function, backend=chosen, **options)

    log.handlers, log.propagate = [reasons], False
    try:
        names: dict[str, Any] = {"torch": torch, "compiled": compiled, "__name__": "program"}
        exec(setup, names)
        for value in eval(f"[{values}]", names):
            names["call"](value)
    finally:
        log.handlers, log.propagate = before
        torch._logging.set_logs()
    return len(made), reasons.failures


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.words}")
def test_a_remedy_saves_compiles(case: Case) -> None:
    number, failures = compiles(case.setup, case.values)
    assert number == case.compiles
    assert case.kind in map(kind_of, failures)
    failed = next(failure for failure in failures if kind_of(failure) == case.kind)
    assert case.words in remedy_for(failed)
    mended, values = case.mended or case.setup, case.mended_values or case.values
    assert compiles(mended, values)[0] == case.mended_compiles


def test_every_entry_is_tried() -> None:
    """Torch's wrapper and `dynamic=False` have tests of their own; the other two have no remedy but
    another program."""
    elsewhere = {"fixed size", "static", "stack", "wrapper"}
    assert {case.kind for case in CASES} == REMEDIES.keys() - elsewhere


@pytest.mark.parametrize(
    ("function", "values"),
    [("lambda x: x * 2", SIZES), ("lambda n: torch.ones(9)[:n] * 2", "4, 5, 6, 7")],
    ids=["size", "number"],
)
def test_what_torch_may_not_make_dynamic_is_said(function: str, values: str) -> None:
    call = "\ndef call(x): f(x)"
    number, failures = compiles(f"f = compiled({function}, dynamic=False){call}", values)
    assert number == 1 + len(failures)
    history = History("f", None, None, None, "0", 0, None)
    none = Compile(0, 0, None, None, 0, 0)
    history.steps = [NeededCompile(none, [failed], [], None) for failed in failures]
    [change] = changes_of(history)
    assert "leave out `dynamic=False`" in change.advice
    assert compiles(f"f = compiled({function}){call}", values)[0] == 2


def test_rare_calls_run_uncompiled_after_the_warm_up() -> None:
    assert "set_stance('eager_on_recompile')" in RARE
    stance = "def call(x):\n    with torch.compiler.set_stance('eager_on_recompile'): f(x)"
    first = "f = compiled(lambda x: x * 2)\nf(torch.ones(3))\n"
    assert compiles(first + stance, "torch.ones(4), torch.ones(5)")[0] == 1


def test_modules_compiled_through_torchs_wrapper_change_nothing() -> None:
    setup = (
        "made = [compiled(torch.nn.ReLU()), compiled(torch.nn.Tanh())]\n"
        "def call(at): made[at](torch.ones(3))"
    )
    number, failures = compiles(setup, "0, 1, 0, 1")
    assert number == 2
    wrapper = "site-packages/torch/_dynamo/external_utils.py"
    assert {kind_of(failure, wrapper) for failure in failures} == {"wrapper"}
