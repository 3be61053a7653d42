"""Writes graphs as text: to read, and as a program that fails on its own."""

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.formats.sizes import KIB, MIB

EMBEDDED_EACH = 256 * KIB
EMBEDDED_ALL = 2 * MIB
"""Most bytes of inputs in a text; larger inputs come from a generator."""
LARGEST_DRAWN = 2**31


@dataclass(frozen=True)
class NodeLine:
    """A node of a graph and its line of code."""

    name: str
    text: str
    op: str
    operation: str
    """Operation of a node that computes, such as `neg`."""
    shape: str
    """Type and shape, such as `f32[1, 8]`, if known."""


def node_lines(graph: GraphModule) -> list[NodeLine]:
    """Returns every node with its line, placeholders and the output included."""
    source = _statements(graph)
    lines = []
    for node in graph.graph.nodes:
        text = source.get(node.name, "")
        if node.op == "placeholder":
            text = f"{node.name} = input"
        elif node.op == "output":
            names = ", ".join(source.name for source in node.all_input_nodes)
            text = f"return ({names}{',' if len(node.all_input_nodes) == 1 else ''})"
        lines.append(
            NodeLine(node.name, text or str(node), node.op, _operation(node), _shape(node))
        )
    return lines


def _statements(graph: GraphModule) -> dict[str, str]:
    statements: dict[str, str] = {}
    for line in graph.code.splitlines():
        name, equals, rest = line.strip().partition(" = ")
        if equals and name.isidentifier():
            statements[name] = f"{name} = {rest.partition(';')[0]}"
    return statements


def _operation(node: Untyped) -> str:
    if node.op != "call_function":
        return str(node.target) if node.op in {"call_method", "call_module"} else ""
    packet = getattr(node.target, "overloadpacket", node.target)
    return str(getattr(packet, "__name__", packet))


def _shape(node: Untyped) -> str:
    value = node.meta.get("val", node.meta.get("example_value"))
    return shape_of(value) if isinstance(value, torch.Tensor) else ""


def shape_of(value: torch.Tensor) -> str:
    from torch.fx.graph import dtype_abbrs

    return f"{dtype_abbrs.get(value.dtype, value.dtype)}[{', '.join(map(str, value.shape))}]"


# --- inputs ---


def packed_inputs(inputs: Sequence[Any]) -> list[dict[str, Any]]:
    """Packs inputs as plain values: small tensors with their bytes, large ones as a random draw."""
    left, packed = EMBEDDED_ALL, []
    for value in inputs:
        description = described(value)
        if isinstance(value, torch.Tensor):
            data = _bytes_of(value)
            if data is not None and len(data) <= min(EMBEDDED_EACH, left):
                left -= len(data)
                description["data"] = base64.b85encode(data).decode()
            else:
                description["draw"] = draw_of(value)
        packed.append(description)
    return packed


def described(value: Untyped) -> dict[str, Any]:
    if not isinstance(value, torch.Tensor):
        return {"value": value}
    return {
        "shape": list(value.shape), "stride": list(value.stride()),
        "dtype": str(value.dtype).removeprefix("torch."), "device": str(value.device),
        "needs_grad": value.requires_grad,
    }  # fmt: skip


def _bytes_of(value: torch.Tensor) -> bytes | None:
    if value.numel() * value.element_size() > 64 * EMBEDDED_EACH:
        return None
    flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return zlib.compress(flat.numpy().tobytes(), 6)


def draw_of(value: torch.Tensor) -> dict[str, Any]:
    """Describes similar random values: mean and deviation of floats, bounds of integers."""
    if value.numel() == 0 or value.dtype is torch.bool:
        return {}
    plain = value.detach()
    if value.is_floating_point():
        finite = plain.double()[torch.isfinite(plain)]
        if finite.numel() < 2:
            return {"mean": 0.0, "std": 1.0}
        return {"mean": _short(finite.mean()), "std": _short(finite.std())}
    if value.is_complex():
        return {"mean": 0.0, "std": 1.0}
    low, high = int(plain.min()), int(plain.max())
    return {"low": low, "high": min(high, LARGEST_DRAWN) if high > LARGEST_DRAWN else high}


def _short(value: torch.Tensor) -> float:
    return float(f"{float(value):.3g}")


def input_text(description: dict[str, Any], number: int, *, embed: bool) -> str:
    """Returns the expression that makes an input."""
    if "value" in description:
        return repr(description["value"])
    shape, stride = tuple(description["shape"]), tuple(description["stride"])
    rest = f"{shape}, {stride}, torch.{description['dtype']}"
    if description["device"] != "cpu":
        rest += f", {description['device']!r}"
    if embed and "data" in description:
        made = f"stored({description['data']!r}, {rest})"
    else:
        draw = "".join(f", {key}={value!r}" for key, value in description.get("draw", {}).items())
        made = f"drawn({number}, {rest}{draw})"
    return made + ".requires_grad_()" if description["needs_grad"] else made


# --- a graph as a class ---


def class_text(graph: GraphModule, name: str = "Program") -> str:
    """Returns the graph as a module class that needs only torch."""
    before, inside = "", ""
    for child, module in graph.named_children():
        if isinstance(module, GraphModule):
            inner = "".join(part.capitalize() for part in f"{name}_{child}".split("_"))
            before += class_text(module, inner) + "\n\n"
            inside += f"        self.{child} = {inner}()\n"
        else:
            inside += f"        self.{child} = torch.nn.{module!r}\n"
    for number, (attribute, value) in enumerate(_own_tensors(graph)):
        description = packed_inputs([value])[0]
        description["needs_grad"] = False
        inside += (
            f"        self.{attribute} = {input_text(description, 1000 + number, embed=True)}\n"
        )
    body = "".join(f"    {line}\n" if line.strip() else "\n" for line in graph.code.splitlines())
    start = f"    def __init__(self):\n        super().__init__()\n{inside}\n" if inside else ""
    return f"{before}class {name}(torch.nn.Module):\n{start}    {body.strip()}\n"


def _own_tensors(graph: GraphModule) -> list[tuple[str, torch.Tensor]]:
    """Returns the constants that nodes fetch from the module."""
    names = {str(node.target) for node in graph.graph.nodes if node.op == "get_attr"}
    values = [(name, getattr(graph, name, None)) for name in sorted(names)]
    return [(name, value) for name, value in values if isinstance(value, torch.Tensor)]
