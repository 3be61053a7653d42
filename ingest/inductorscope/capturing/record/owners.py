"""Makes loop-body nodes remember the FX node they belong to.

An IR node is created while the lowering processes an FX node; its inner function runs later,
perhaps inside another one. The innermost inner function during the tracing of an `ops.*` call owns
the call.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch._inductor import ir
from torch._inductor.loop_body import InterpreterShim, LightTracer
from torch._inductor.scheduler import SchedulerNode
from torch._inductor.virtualized import NullHandler, V

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.record.origins import OWNER, Recorder, after, around

_ATTRIBUTE = "_inductorscope_owner"
_STORES = ("store_output", "store_reduction")


def follow_owners(recorder: Recorder) -> None:
    """Installs the hooks."""
    after(recorder, ir.Loops, "__post_init__", lambda _, loops: _own(recorder, loops))
    for kind in _all_subclasses(ir.Loops):
        for name in _STORES:
            if name in vars(kind):
                around(
                    recorder,
                    kind,
                    name,
                    lambda loops: recorder.owned_by(getattr(loops, _ATTRIBUTE, None)),
                )
    _mark_traced_nodes(recorder)
    around(recorder, InterpreterShim, "run", _pushing(recorder.interpreters, lambda shim: shim))
    around(
        recorder,
        SchedulerNode,
        "codegen",
        _pushing(recorder.scheduler_nodes, lambda node: node.get_name()),
    )


def _own(recorder: Recorder, loops: Untyped) -> None:
    fx = recorder.owners[-1] if recorder.owners else _being_lowered()
    if fx is None:
        return
    object.__setattr__(loops, _ATTRIBUTE, fx)
    object.__setattr__(loops, "inner_fn", _owned(recorder, loops.inner_fn, fx))
    several = getattr(loops, "inner_fns", None)
    if several is not None:  # scans and sorts take several inputs
        functions = (_owned(recorder, function, fx) for function in several)
        object.__setattr__(loops, "inner_fns", type(several)(functions))


def _owned(recorder: Recorder, function: Callable[..., Untyped], fx: str) -> Callable[..., Untyped]:
    def inner_fn(*args: Untyped, **kwargs: Untyped) -> Untyped:
        with recorder.owned_by(fx):
            return function(*args, **kwargs)

    return inner_fn


def _being_lowered() -> str | None:
    graph = V.graph
    if isinstance(graph, NullHandler):
        return None
    node = getattr(graph, "current_node", None)
    return None if node is None else str(node.name)


def _mark_traced_nodes(recorder: Recorder) -> None:
    def mark(node: Untyped, *_args: Untyped, **_kwargs: Untyped) -> None:
        fx = recorder.owner_of_new_node()
        if fx is not None:
            node.meta[OWNER] = fx

    after(recorder, LightTracer, "create_node", mark)


def _pushing(stack: list[Untyped], name: Callable[..., Untyped]) -> Callable[..., Untyped]:
    """Returns a context that keeps a name from the method's object on a stack while it runs."""

    @contextmanager
    def context(self: Untyped) -> Iterator[None]:
        stack.append(name(self))
        try:
            yield
        finally:
            stack.pop()

    return context


def _all_subclasses(kind: Untyped) -> list[Untyped]:
    classes = [kind]
    for subclass in kind.__subclasses__():
        classes += _all_subclasses(subclass)
    return classes
