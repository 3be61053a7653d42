"""One value of the post-grad graph: a node, its inputs and its users."""

from __future__ import annotations

from dataclasses import dataclass, field

# They re-index what they are given and compute nothing; a load passes through them.
VIEWS = frozenset(
    [
        "view", "reshape", "permute", "transpose", "t", "expand", "squeeze", "unsqueeze", "slice",
        "select", "as_strided", "alias", "detach", "split", "split_with_sizes", "unbind", "chunk",
        "_unsafe_view", "unfold", "diagonal", "narrow", "_reshape_alias", "view_as", "numpy_T",
        "expand_as", "movedim", "lift_fresh", "swapaxes", "unsafe_split", "broadcast_in_dim",
        "view_of", "flatten", "ravel", "unflatten", "split_dim", "collapse_view", "mT", "adjoint",
    ]
)  # fmt: skip


@dataclass(slots=True)
class FxValue:
    name: str
    op: str
    order: int
    line: int
    arguments: list[str]
    inputs: list[str]
    users: list[str] = field(default_factory=list)
    dtype: str = ""
    numel: str = ""
    shape: tuple[str, ...] | None = None
    placeholder: bool = False
    owner: str = ""
    """The node that stands for it: a `_foreach_` node stands for each of its outputs."""
    strided: bool = False
    """What computes it asks for the strides of its inputs."""
    constant: bool = False
    """No tensor goes into it: its elements follow from their indices alone."""

    @property
    def view(self) -> bool:
        if self.op == "pow" and self.arguments[1:] in (["1"], ["1.0"]):
            return True  # lowered to its argument
        return self.op in VIEWS
