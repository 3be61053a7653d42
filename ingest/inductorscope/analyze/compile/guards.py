"""The guards of a compile in readable form."""

import msgspec

from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.log.guard_failures import source_as_written
from inductorscope.formats.log.guard_tree import GuardNode, read_guard_tree

MEANING = {
    "TENSOR_MATCH": "a tensor keeps its dtype, device, sizes, strides and requires_grad",
    "TYPE_MATCH": "the type stays the same",
    "ID_MATCH": "it stays the same object",
    "EQUALS_MATCH": "the value stays the same",
    "CONSTANT_MATCH": "the value stays the same",
    "LAMBDA_GUARD": "a condition holds",
    "NO_HASATTR": "it does not have this attribute",
    "HASATTR": "it has this attribute",
    "GLOBAL_STATE": "gradients, autocast, default dtype and threads stay the same",
    "DEFAULT_DEVICE": "the default device stays the same",
    "TORCH_FUNCTION_MODE_STACK": "no mode intercepts torch's functions",
    "LENGTH_CHECK": "the length stays the same",
    "DICT_LENGTH": "the number of keys stays the same",
    "DICT_VERSION": "the dictionary is not changed",
    "DICT_CONTAINS": "the key is in the dictionary, or is not",
    "NO_TENSOR_ALIASING": "no two inputs are the same tensor",
    "OBJECT_ALIASING": "two inputs are the same object",
    "DUPLICATE_INPUT": "two inputs are the same object",
    "WEAKREF_ALIVE": "the object still exists",
    "DIMENSION_DYNAMIC_MARKING_GUARD": "marks of dynamic dimensions stay the same",
    "SYMBOLIC_SHAPE_GUARD": "conditions on symbolic sizes hold",
    "GRAD_MODE": "gradients stay on or off",
    "DETERMINISTIC_ALGORITHMS": "deterministic algorithms stay on or off",
    "AUTOGRAD_SAVED_TENSORS_HOOKS": "hooks on saved tensors stay the same",
    "NONE_MATCH": "it stays None",
    "BOOL_MATCH": "the value stays the same",
    "FUNCTION_MATCH": "it stays the same function",
    "CLOSURE_MATCH": "it stays the same function",
    "MODULE_MATCH": "it stays the same module",
    "DATA_PTR_MATCH": "the tensor stays at its address",
    "STORAGE_OVERLAPPING": "views overlap as before",
    "RELATIONAL_GUARD": "a relation between inputs holds",
}


class GuardRow(msgspec.Struct, frozen=True):
    """A guard, or an object that the guards below it examine."""

    depth: Hidden[int]
    kind: str
    """Empty for an examined object."""
    subject: str
    """The examined object, as written in the program."""
    text: str
    meaning: Prose
    type: str
    code: str | None
    place: str | None
    line: int


class Guards(msgspec.Struct, frozen=True):
    rows: list[GuardRow]
    count: int
    latency_us: float | None
    cut: bool


def guards_of(text: str) -> Guards:
    tree = read_guard_tree(text)
    return Guards([_row(node) for node in tree.nodes], tree.guards, tree.latency_us, tree.cut)


def _row(node: GuardNode) -> GuardRow:
    if node.kind == "manager":
        subject = _subject(node.source or node.text)
        return view(GuardRow, node, kind="", subject=subject, text="", meaning="")
    return view(GuardRow, node, subject="", meaning=MEANING.get(node.kind, ""))


def _subject(source: str) -> str:
    if source == "RootGuardManager":
        return "everything"
    if source == "G":
        return "global names"
    if source.startswith("G["):
        return f"global {source[2:].split(']')[0].strip(chr(39))}{source.partition(']')[2]}"
    return source_as_written(source)
