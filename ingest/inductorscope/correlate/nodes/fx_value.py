"""One value of the post-grad graph: a node, its inputs and its users."""

import msgspec

# Views only re-index their input; a load passes through them.
VIEWS = frozenset(
    [
        "view", "reshape", "permute", "transpose", "t", "expand", "squeeze", "unsqueeze", "slice",
        "select", "as_strided", "alias", "detach", "split", "split_with_sizes", "unbind", "chunk",
        "_unsafe_view", "unfold", "diagonal", "narrow", "_reshape_alias", "view_as", "numpy_T",
        "expand_as", "movedim", "lift_fresh", "swapaxes", "unsafe_split", "broadcast_in_dim",
        "view_of", "flatten", "ravel", "unflatten", "split_dim", "collapse_view", "mT", "adjoint",
    ]
)  # fmt: skip


class FxValue(msgspec.Struct):
    name: str
    op: str
    order: int
    line: int
    arguments: list[str]
    inputs: list[str]
    users: list[str] = msgspec.field(default_factory=list)
    dtype: str = ""
    numel: str = ""
    shape: tuple[str, ...] | None = None
    placeholder: bool = False
    owner: str = ""
    """The node that represents it: a `_foreach_` node represents each of its outputs."""
    strided: bool = False
    """Whether the kernel that computes it requests the strides of its inputs."""
    constant: bool = False
    """Whether its elements depend on their indices only, not on a tensor."""

    number: bool = False
    """Whether it is a symbolic size and no tensor: no loop body computes it."""

    @property
    def view(self) -> bool:
        return self.op in VIEWS
