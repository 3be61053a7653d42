"""What is written into slices of slices, again and again, as for the masks of shifted windows."""

from __future__ import annotations

from tests.correlate.test_copies import graph
from tests.correlate.test_origins import node, origins, user

LEVELS = 9


def lines() -> str:
    """`x[k:, k:] = k` for each k."""
    text = 'arg0_1: "f32[8, 8][8, 1]cpu"):\n'
    text += 'all_0: "f32[8, 8][8, 1]cpu" = torch.ops.aten.full.default([8, 8], 0)\n'
    for k in range(1, LEVELS + 1):
        left = 8 - k
        part, slices = f'"f32[{left}, 8][8, 1]cpu"', "torch.ops.aten.slice_scatter.default"
        text += f"""\
rows_{k}: {part} = torch.ops.aten.slice.Tensor(all_{k - 1}, 0, {k}, 8)
number_{k}: "f32[{left}, {left}][{left}, 1]cpu" = torch.ops.aten.full.default([{left}, {left}], {k})
part_{k}: {part} = {slices}(rows_{k}, number_{k}, 1, {k}, 8)
all_{k}: "f32[8, 8][8, 1]cpu" = {slices}(all_{k - 1}, part_{k}, 0, {k}, 8)
"""
    return text + f"return (all_{LEVELS},)"


class Body:
    """Loop bodies as Inductor writes them: each level is computed in the one around it and, once
    more, under its mask."""

    def __init__(self) -> None:
        self.blocks: list[list[str]] = []

    def value(self, level: int, block: list[str]) -> str:
        if not level:
            return self.op(block, "ops.constant(0.0, torch.float32)")
        inside = self.bound(block, "index0", level)
        masked = self.masked(block, inside)
        under = self.blocks[masked - 1]
        across = self.bound(under, "index1", level)
        number = self.masked(under, across)
        source = self.blocks[number - 1]
        source.append(f"return {self.op(source, f'ops.constant({level}.0, torch.float32)')}")
        rest = self.value(level - 1, under)
        part = self.op(under, f"ops.where({across}, masked_subblock{number}, {rest})")
        under.append(f"return {part}")
        rest = self.value(level - 1, block)
        return self.op(block, f"ops.where({inside}, masked_subblock{masked}, {rest})", level)

    def op(self, block: list[str], text: str, level: int = 0) -> str:
        name = f"{text.removeprefix('ops.').partition('(')[0]}_{len(block)}"
        block.append(f"{name} = {text}")
        return name

    def bound(self, block: list[str], index: str, level: int) -> str:
        block.append(f"get_{index}_{len(block)} = self.get_index('{index}')")
        read = block[-1].partition(" ")[0]
        place = self.op(block, f"ops.index_expr({read}, torch.int64)")
        return self.op(
            block, f"ops.ge({place}, {self.op(block, f'ops.constant({level}, torch.int64)')})"
        )

    def masked(self, block: list[str], condition: str) -> int:
        self.blocks.append([])
        number = len(self.blocks)
        block.append(f"masked_subblock{number} = self.masked_subblock{number}({condition}, 0.0)")
        return number


def test_each_level_is_found_however_many_there_are() -> None:
    body = Body()
    top: list[str] = []
    last = body.value(LEVELS, top)
    top += [
        "get_index = self.get_index('index2')",
        f"store = ops.store('buf0', get_index, {last}, None)",
    ]
    ir = node(0, "\n".join(top), "[8, 8]", user("OUTPUT")).replace("{p0: 8}", "{p0: 8, p1: 8}")
    ir = ir.replace("index1 = p0 + 8\n", "index1 = p1\n    index2 = 8*p0 + p1\n").rstrip() + "\n"
    for number, block in enumerate(body.blocks, 1):
        written = "".join(f"        {line}\n" for line in block)
        ir += f"    def masked_subblock{number}(self, ops):\n{written}"
    found = origins(graph(lines()), ir)
    assert found.nodes["op0", "body", last] == f"all_{LEVELS}"
    choices = [
        name for name in (line.partition(" ")[0] for line in top) if name.startswith("where")
    ]
    made = [found.nodes["op0", "body", name] for name in choices]
    assert made == [f"all_{level}" for level in range(1, LEVELS + 1)]
    assert found.costs["op0"] < 1
