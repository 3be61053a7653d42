"""Finds the FX nodes that library calls compute if Inductor does not record them: it writes no
provenance for lazily compiled graphs, such as backward graphs.

If a graph has as many such calls of an operator as unassigned nodes of it, the first call computes
the first node, and so on. The scheduler keeps the order of dependent nodes; independent ones, such
as the gradients of a layer's input and weights, can be swapped, but then belong to the same line of
the program.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

# extern_kernels.mm, torch.ops.aten.convolution.default, aten.bmm
_OPERATION = re.compile(
    r"(?:^|\.)(\w+?)(?:_out)?(?:\.(?:default|out|(?=\w*(?:Tensor|Scalar))\w++))?$"
)
_SAME = {"bias_addmm": "addmm", "convolution_overrideable": "convolution"}


def operation(name: str) -> str:
    """`extern_kernels.mm` and `torch.ops.aten.mm.default` → `mm`."""
    match = _OPERATION.search(name)
    facts = match.group(1) if match else name
    return _SAME.get(facts, facts)


def nodes_in_order(
    calls: Sequence[tuple[int, str]], targets: Mapping[str, str], claimed: set[str]
) -> dict[int, str]:
    """Returns call → node. `calls`: (number, kernel) of calls without nodes, in the wrapper's
    order; `targets`: targets of all nodes, in the graph's order; `claimed`: nodes that other calls
    compute."""
    free: dict[str, list[str]] = defaultdict(list)
    for name, target in targets.items():
        if name not in claimed:
            free[operation(target)].append(name)
    waiting: dict[str, list[int]] = defaultdict(list)
    for number, kernel in calls:
        waiting[operation(kernel)].append(number)
    assigned: dict[int, str] = {}
    for facts, numbers in waiting.items():
        if len(numbers) == len(free[facts]):
            assigned.update(zip(numbers, free[facts], strict=True))
    return assigned
