"""The tree of guards that a compile installed, from `dynamo_cpp_guards_str`.

TREE_GUARD_MANAGER:
+- RootGuardManager
| +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None      # _dynamo/… in init_ambient_guards
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(…), type=<class …>
| | +- TENSOR_MATCH: check_tensor(L['x'], …)  # y = torch.sin(x)  # models.py:112 in f
Guard latency = 26.16 us
"""

import re

import msgspec

MOST_NODES = 50_000
LONGEST = 4000

_NODE = re.compile(r"^((?:\| ){0,200}|(?:\|  ){0,200})\+- (.*)$")
_MANAGER = re.compile(r"^(?:[A-Za-z]{0,40}Manager): source=(.{0,2000}?), accessed_by=(.{0,1000})$")
_KIND = re.compile(r"^([A-Z][A-Z_0-9]{1,60}): ?(.*)$", re.S)
_LATENCY = re.compile(r"^Guard latency = (\d{1,9}(?:\.\d{1,9})?) us", re.M)
_TYPE = re.compile(r"type=<class '([^'>]{1,300})'>")
_COMMENTS = re.compile(r"(?<! ) {2,}# ")


class GuardNode(msgspec.Struct):
    """A guard, or a manager: a value that the guards below it check."""

    depth: int
    kind: str
    """`TENSOR_MATCH`, …, or `manager`."""
    text: str
    source: str = ""
    """The value that a manager's guards check, as Dynamo writes it."""
    type: str = ""
    code: str | None = None
    """The user's line that it was made for."""
    place: str | None = None
    line: int = 0
    """Line of the text, from 1."""


class GuardTree(msgspec.Struct):
    nodes: list[GuardNode] = msgspec.field(default_factory=list)
    latency_us: float | None = None
    """Time to check all guards, as torch measured it."""
    cut: bool = False
    """Whether some guards were not read."""

    @property
    def guards(self) -> int:
        return sum(node.kind != "manager" for node in self.nodes)


def read_guard_tree(text: str) -> GuardTree:
    tree = GuardTree()
    latency = _LATENCY.search(text)
    if latency is not None:
        tree.latency_us = float(latency.group(1))
    for number, line in enumerate(text.split("\n"), start=1):
        match = _NODE.match(line[:LONGEST])
        if match is None:
            continue
        if len(tree.nodes) >= MOST_NODES:
            tree.cut = True
            break
        depth = match.group(1).count("|")
        tree.nodes.append(_node(depth, match.group(2), number))
    return tree


def _node(depth: int, text: str, line: int) -> GuardNode:
    manager = _MANAGER.match(text)
    if manager is not None:
        named = _TYPE.search(text)
        node = GuardNode(depth, "manager", text, manager.group(1), line=line)
        node.type = named.group(1) if named else ""
        return node
    kind = _KIND.match(text)
    if kind is None:
        return GuardNode(depth, "manager", text, line=line)
    parts = _COMMENTS.split(kind.group(2))
    node = GuardNode(depth, kind.group(1), parts[0].strip(), line=line)
    named = _TYPE.search(parts[0])
    node.type = named.group(1) if named else ""
    if len(parts) > 1:
        node.place = parts[-1].strip()
        node.code = parts[-2].strip() if len(parts) > 2 else None
    return node
