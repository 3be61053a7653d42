"""What is found about loop bodies: the node of each operation, and the values in buffers."""

import msgspec

from inductorscope.correlate.nodes.fx_graph import Root

OpKey = tuple[str, str, str]
"""(scheduler node, block of its loop body, operation)"""


class Origins(msgspec.Struct):
    """The node of each operation, and the values in buffers."""

    nodes: dict[OpKey, str] = msgspec.field(default_factory=dict)
    """The node whose value or computation the operation is part of."""
    costs: dict[str, float] = msgspec.field(default_factory=dict)
    """Scheduler node → cost of its reading; absent when nothing fits."""
    held: dict[str, Root] = msgspec.field(default_factory=dict)
    externs: dict[str, str] = msgspec.field(default_factory=dict)
    """Buffer made by an extern call → the computed node."""
    others: dict[OpKey, list[str]] = msgspec.field(default_factory=dict)
    """Operation → its nodes if another node is the right one that fits the loop body as well."""
    rules: dict[OpKey, str] = msgspec.field(default_factory=dict)
    """Operation → what the rule says that gave it its node, where one did."""


class Comments(msgspec.Struct):
    """What comments above kernels say."""

    members: dict[str, frozenset[str]] = msgspec.field(default_factory=dict)
    """Scheduler node → the nodes of its kernel's call, where all are known."""
    made_for: dict[str, str] = msgspec.field(default_factory=dict)
    """Buffer → the node that it was made for, where known."""
    made_like: dict[str, str] = msgspec.field(default_factory=dict)
    """Buffer → what the kernel's first call computed in its place, as the operation of a node."""
