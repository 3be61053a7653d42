"""Tracks the current origin: the loop-body node being run, and the FX node it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from torch._inductor.virtualized import V

from inductorscope.capturing.inside.untyped import Untyped

T = TypeVar("T")

OWNER = "inductorscope_fx"
"""Key in a loop-body node's meta: the name of the FX node it belongs to."""

_BUFFER_ARGUMENT = {"load": 1, "store": 1, "store_reduction": 1}


@dataclass(slots=True)
class Origin:
    """The operation that wrote a line."""

    op: str
    """Operation that the loop-body node calls: `add`, `load`, `masked_subblock1`."""
    node: str
    """Name of the loop-body node."""
    fx: str | None
    where: str
    """Scheduler node and path to the loop-body node, `op7.masked_subblock1.load_2`."""
    buffer: str | None


class Recorder:
    """State of the recording. After an internal failure it records nothing more."""

    def __init__(self) -> None:
        self.failure: str | None = None
        self.owners: list[str | None] = []
        """FX nodes whose inner functions are running, innermost last."""
        self.scheduler_nodes: list[str] = []
        self.interpreters: list[Untyped] = []

    def guarded(self, note: Callable[[], None]) -> None:
        """Runs a step of the recording; its failure must never fail the compile."""
        if self.failure is not None:
            return
        try:
            note()
        except Exception as error:  # noqa: BLE001  # a failure here must not stop the compile
            self.failure = f"The recorder failed with {type(error).__name__}: {error}"

    def owner_of_new_node(self) -> str | None:
        """Returns the FX node that a loop-body node created now belongs to."""
        copied = _running_node()
        if copied is not None:  # a loop body is retraced from an older one
            return owner_of(copied)
        return self.owners[-1] if self.owners else None

    def current(self) -> Origin | None:
        """Returns the current origin; None between loop bodies."""
        node = _running_node()
        if node is None:
            return None
        outer = [shim.current_node.target for shim in self.interpreters[:-1] if shim.current_node]
        path = [*self.scheduler_nodes[-1:], *map(str, outer), node.name]
        return Origin(str(node.target), node.name, owner_of(node), ".".join(path), _buffer_of(node))


@contextmanager
def pushed(stack: list[T], value: T) -> Iterator[None]:
    """Keeps a value on a stack."""
    stack.append(value)
    try:
        yield
    finally:
        stack.pop()


def owner_of(node: Untyped) -> str | None:
    """Returns the FX node that a loop-body node belongs to.

    Conversions that the C++ back end puts around loads and stores of small floats have none; they
    belong to the node of their operand, or else of their user.
    """
    fx = node.meta.get(OWNER)
    if fx is not None:
        return str(fx)
    for neighbour in (*node.all_input_nodes, *node.users):
        fx = neighbour.meta.get(OWNER)
        if fx is not None and neighbour.op == "call_method":
            return str(fx)
    return None


def after(recorder: Recorder, owner: Untyped, name: str, note: Callable[..., None]) -> None:
    """Has each call of a function of Inductor noted with its result and arguments."""
    original = getattr(owner, name)

    @wraps(original)
    def function(*args: Untyped, **kwargs: Untyped) -> Untyped:
        result = original(*args, **kwargs)
        recorder.guarded(lambda: note(result, *args, **kwargs))
        return result

    setattr(owner, name, function)


def around(recorder: Recorder, owner: type, name: str, context: Callable[..., Untyped]) -> None:
    """Makes a method of Inductor run inside `context(self, *args)`."""
    original = getattr(owner, name)

    @wraps(original)
    def method(self: Untyped, *args: Untyped, **kwargs: Untyped) -> Untyped:
        if recorder.failure is not None:
            return original(self, *args, **kwargs)
        with context(self):
            return original(self, *args, **kwargs)

    setattr(owner, name, method)


def _running_node() -> Untyped:
    node = getattr(V.interpreter, "current_node", None)
    return node if node is not None and node.op in ("call_method", "call_module") else None


def _buffer_of(node: Untyped) -> str | None:
    place = _BUFFER_ARGUMENT.get(str(node.target))
    if place is None or len(node.args) <= place or not isinstance(node.args[place], str):
        return None
    return str(node.args[place])
