"""Runs an FX graph in several ways in parallel, node by node, to bound its correct numbers.

Each way is a lane: as written; in float64; and twice in float64 with each operation's result
perturbed by one rounding of its dtype. If the compiled side's value of a node is known, all lanes
continue with it, so that each comparison covers only the operations in between, and an error shows
where it is made.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import torch
from torch.utils._pytree import tree_leaves, tree_map

from inductorscope.capturing.inside.diagnose.copying import copied
from inductorscope.capturing.inside.untyped import Untyped

_WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}
_SMALL = (torch.float16, torch.bfloat16)
_RANDOM = ("inductor_random", "inductor_randint", "inductor_seed", "inductor_lookup_seed")
_UNSET = ("empty", "new_empty")
PERTURBED = 2
"""Seeds of the perturbed lanes."""


@dataclass(slots=True)
class Compared:
    """A node with its compiled value and the values of the lanes."""

    node: torch.fx.Node
    compiled: torch.Tensor
    written: torch.Tensor
    """Value as the graph is written, from the same values as the compiled side."""
    exact: torch.Tensor
    shaken: list[torch.Tensor]
    between: list[torch.fx.Node]
    """The nodes from the last known values up to this one, in the graph's order."""
    terms: int
    """Number of elements of the longest sum among them."""


class Lane:
    """A way to run the graph."""

    def __init__(self, module: torch.fx.GraphModule, wide: bool, shake: int | None) -> None:
        self.module = module
        self.wide = wide
        self.values: dict[torch.fx.Node, Untyped] = {}
        self._shake = shake
        self._generators: dict[torch.device, torch.Generator] = {}

    def take(self, node: torch.fx.Node, value: Untyped, computed: bool = False) -> None:
        """Sets a value from outside: an input, or a value of the compiled side.

        A kernel that stores a small float may itself use the value before it is rounded.
        """
        value = tree_map(copied, value)
        small = isinstance(value, torch.Tensor) and value.dtype in _SMALL
        self.values[node] = widened(value) if self.wide else value
        if computed and small and self._shake is not None:
            self.values[node] = self._shaken_tensor(self.values[node], value)

    def run(self, node: torch.fx.Node) -> Untyped:
        values = self.values
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda used: values[used])
        if not self.wide:
            value = self._call(node, args, kwargs)
        else:
            value = self._run_wide(node, args, kwargs)
            # A view of an argument must stay the same memory.
            if self._shake is not None and _storages(value).isdisjoint(_storages((args, kwargs))):
                value = self._shaken(node, value)
        values[node] = value
        return value

    def _run_wide(self, node: torch.fx.Node, args: Untyped, kwargs: Untyped) -> Untyped:
        try:
            return widened(self._call(node, *tree_map(_wide_dtype, (args, kwargs))))
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            # Operations that do not take float64 run in their original dtypes.
            narrow = torch.fx.map_arg(
                (node.args, node.kwargs), lambda used: _narrowed(self.values[used], used)
            )
            return widened(self._call(node, *narrow))

    def _call(self, node: torch.fx.Node, args: Untyped, kwargs: Untyped) -> Untyped:
        if node.op == "call_function":
            return node.target(*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        return self.module.get_submodule(str(node.target))(*args, **kwargs)

    def _shaken(self, node: torch.fx.Node, value: Untyped) -> Untyped:
        meta = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            return self._shaken_tensor(value, meta)
        if isinstance(value, list | tuple):
            metas = meta if isinstance(meta, list | tuple) else [None] * len(value)
            each = [
                self._shaken_tensor(item, of) if isinstance(item, torch.Tensor) else item
                for item, of in zip(value, metas, strict=True)
            ]
            return type(value)(each) if type(value) in (list, tuple) else tuple(each)
        return value

    def _shaken_tensor(self, value: torch.Tensor, meta: Untyped) -> torch.Tensor:
        dtype = meta.dtype if isinstance(meta, torch.Tensor) else torch.float32
        if value.dtype != torch.float64 or not dtype.is_floating_point:
            return value
        generator = self._generators.get(value.device)
        if generator is None:
            generator = torch.Generator(value.device).manual_seed(1 + (self._shake or 0))
            self._generators[value.device] = generator
        draws = torch.rand(value.shape, generator=generator, device=value.device).double()
        # Between half a rounding and a whole one, up or down, so that it is never almost zero.
        shakes = torch.where(draws < 0.5, draws + 0.5, -draws)
        return value * (1 + torch.finfo(dtype).eps * shakes)


def compare_along(
    module: torch.fx.GraphModule,
    inputs: Sequence[Untyped],
    compiled: Mapping[str, torch.Tensor],
) -> Iterator[Compared | tuple[torch.fx.Node, str]]:
    """Yields for each node its comparison, or the reason (in words) why it has none.

    `compiled` are the values of the compiled side, by the node's name.
    """
    random_state = torch.get_rng_state()
    along = _Along(module, compiled)
    remaining_inputs = iter(inputs)
    nodes = list(module.graph.nodes)
    frees = _last_uses(nodes)
    for node in nodes:
        if node.op == "output":
            break
        if node.op in ("placeholder", "get_attr"):
            along.known.add(node)
            value = next(remaining_inputs) if node.op == "placeholder" else attribute(module, node)
            for lane in along.lanes:
                lane.take(node, value)
            continue
        yield along.at(node)
        along.continue_from(node)
        for used in frees.get(node, ()):
            for lane in along.lanes:
                lane.values.pop(used, None)
    torch.set_rng_state(random_state)


class _Along:
    """The lanes on their way through the graph."""

    def __init__(self, module: torch.fx.GraphModule, compiled: Mapping[str, torch.Tensor]) -> None:
        self.lanes = [Lane(module, False, None), Lane(module, True, None)]
        self.lanes += [Lane(module, True, number) for number in range(PERTURBED)]
        self.compiled = compiled
        self.known: set[torch.fx.Node] = set()
        """Nodes whose values are known on both sides."""
        self._reasons: dict[torch.fx.Node, str] = {}
        """Nodes whose values the graph does not determine."""
        self._terms: dict[torch.fx.Node, int] = {}

    def at(self, node: torch.fx.Node) -> Compared | tuple[torch.fx.Node, str]:
        reason = _cannot_compare(node) or next(
            (self._reasons[used] for used in node.all_input_nodes if used in self._reasons), None
        )
        compiled = self.compiled.get(node.name)
        if reason is not None:
            value: Untyped = self.lanes[0].run(node) if compiled is None else compiled
            for lane in self.lanes:
                lane.take(node, value)
            if compiled is None:
                self._reasons[node] = reason
            else:
                self.known.add(node)
            return node, reason
        found = [lane.run(node) for lane in self.lanes]
        self._terms[node] = _terms(node, self.lanes[0].values)
        if compiled is None:
            return node, ""
        if not _alike(found[0], compiled):
            return node, "Its buffer has another shape or dtype than the node"
        between = between_known(node, self.known)
        terms = max(self._terms.get(passed, 1) for passed in between)
        return Compared(node, compiled, found[0], found[1], found[2:], between=between, terms=terms)

    def continue_from(self, node: torch.fx.Node) -> None:
        """Continues with the value of the compiled side."""
        compiled = self.compiled.get(node.name)
        written = self.lanes[0].values.get(node)
        if compiled is None or node in self.known or not _alike(written, compiled):
            return
        self.known.add(node)
        for lane in self.lanes:
            lane.take(node, compiled, computed=True)


def between_known(node: torch.fx.Node, known: Collection[torch.fx.Node]) -> list[torch.fx.Node]:
    """Returns the nodes that lead from known values to the node, which is the last."""
    nodes = {node}
    waiting = [node]
    while waiting:
        for used in waiting.pop().all_input_nodes:
            if used not in known and used not in nodes:
                nodes.add(used)
                waiting.append(used)
    return sorted(nodes)


def _terms(node: torch.fx.Node, values: Mapping[torch.fx.Node, Untyped]) -> int:
    """Returns roughly how many elements are reduced to one."""
    value = values[node]
    parts = value if isinstance(value, list | tuple) else [value]
    made = [part.numel() for part in parts if isinstance(part, torch.Tensor) and part.numel()]
    taken = [
        values[used].numel()
        for used in node.all_input_nodes
        if isinstance(values.get(used), torch.Tensor)
    ]
    return max(1, max(taken, default=1) // min(made, default=1)) if made else 1


def operation(node: torch.fx.Node) -> torch.fx.Node:
    """Returns the node of the operation itself: torch wraps random ones to keep their order."""
    wrapped = node.args[1] if str(node.target) == "control_deps" else None
    if not isinstance(wrapped, torch.fx.Node) or node.graph.owning_module is None:
        return node
    inner = attribute(node.graph.owning_module, wrapped).graph
    return next((made for made in inner.nodes if made.op == "call_function"), node)


def is_random(node: torch.fx.Node) -> bool:
    """Whether a node draws random numbers; attention with a dropout of 0 does not."""
    node = operation(node)
    if any(name in str(node.target) for name in _RANDOM):
        return True
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    if not isinstance(node.target, torch._ops.OpOverload):
        return True
    names = [argument.name for argument in node.target._schema.arguments]
    arguments = dict(zip(names, node.args, strict=False)) | node.kwargs
    chance = next((name for name in names if name in ("dropout_p", "p")), None)
    if chance is None:
        return True
    default = next(a.default_value for a in node.target._schema.arguments if a.name == chance)
    return bool(arguments.get(chance, default) != 0)


def _cannot_compare(node: torch.fx.Node) -> str | None:
    if is_random(node):
        return "It draws random numbers"
    name = getattr(node.target, "__name__", "").partition(".")[0]
    if name.startswith(_UNSET):
        return "Its memory is not set"
    return None


def computes(node: torch.fx.Node) -> bool:
    """Whether a node computes numbers: it is not an input, a view or an element of a tuple."""
    if node.op != "call_function":
        return False
    if bool(getattr(node.target, "is_view", False)):
        return False
    return getattr(node.target, "__name__", "") != "getitem"


def widened(value: Untyped) -> Untyped:
    """Converts floating-point tensors to float64."""

    def wide(item: Untyped) -> Untyped:
        known = isinstance(item, torch.Tensor) and item.dtype in _WIDER
        return item.to(_WIDER[item.dtype]) if known else item

    return tree_map(wide, value)


def _wide_dtype(item: Untyped) -> Untyped:
    return _WIDER.get(item, item) if isinstance(item, torch.dtype) else item


def _narrowed(value: Untyped, node: torch.fx.Node) -> Untyped:
    meta = node.meta.get("val")

    def narrow(item: Untyped, of: Untyped) -> Untyped:
        if isinstance(item, torch.Tensor) and isinstance(of, torch.Tensor):
            return item.to(of.dtype)
        return item

    if isinstance(value, list | tuple) and isinstance(meta, list | tuple):
        return type(value)(narrow(item, of) for item, of in zip(value, meta, strict=True))
    return narrow(value, meta)


def _alike(written: Untyped, compiled: torch.Tensor) -> bool:
    if not isinstance(written, torch.Tensor):
        return False
    return bool(written.shape == compiled.shape and written.dtype == compiled.dtype)


def _storages(value: Untyped) -> set[int]:
    tensors = (item for item in tree_leaves(value) if isinstance(item, torch.Tensor))
    return {tensor.untyped_storage()._cdata for tensor in tensors}


def attribute(module: torch.fx.GraphModule, node: torch.fx.Node) -> Untyped:
    return attrgetter(str(node.target))(module)


def _last_uses(nodes: list[torch.fx.Node]) -> dict[torch.fx.Node, list[torch.fx.Node]]:
    last: dict[torch.fx.Node, torch.fx.Node] = {}
    for node in nodes:
        for used in node.all_input_nodes:
            last[used] = node
    frees: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    for used, user in last.items():
        frees.setdefault(user, []).append(used)
    return frees
