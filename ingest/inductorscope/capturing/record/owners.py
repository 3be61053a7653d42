"""Makes loop-body nodes remember the FX node they belong to.

An IR node is created while the lowering processes an FX node; its inner function runs later,
perhaps inside another one. The innermost inner function during the tracing of an `ops.*` call owns
the call.
"""

from collections.abc import Callable

from torch._inductor import ir
from torch._inductor.loop_body import InterpreterShim, LightTracer
from torch._inductor.scheduler import SchedulerNode
from torch._inductor.virtualized import V

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.record.origins import OWNER, Recorder, after, around, pushed

_ATTRIBUTE = "_inductorscope_owner"
_STORES = ("store_output", "store_reduction")


def follow_owners(recorder: Recorder) -> None:
    """Installs the hooks."""
    after(recorder, ir.Loops, "__post_init__", lambda _, loops: _own(recorder, loops))
    for kind in all_subclasses(ir.Loops):
        for name in _STORES:
            if name in vars(kind):
                around(
                    recorder,
                    kind,
                    name,
                    lambda loops: pushed(recorder.owners, getattr(loops, _ATTRIBUTE, None)),
                )
    _mark_traced_nodes(recorder)
    around(recorder, InterpreterShim, "run", lambda shim: pushed(recorder.interpreters, shim))
    nodes = recorder.scheduler_nodes
    around(recorder, SchedulerNode, "codegen", lambda node: pushed(nodes, node.get_name()))


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
        with pushed(recorder.owners, fx):
            return function(*args, **kwargs)

    return inner_fn


def _being_lowered() -> str | None:
    node = getattr(V.graph, "current_node", None)
    return None if node is None else str(node.name)


def _mark_traced_nodes(recorder: Recorder) -> None:
    def mark(node: Untyped, *_args: Untyped, **_kwargs: Untyped) -> None:
        fx = recorder.owner_of_new_node()
        if fx is not None:
            node.meta[OWNER] = fx

    after(recorder, LightTracer, "create_node", mark)


def all_subclasses(kind: Untyped) -> list[Untyped]:
    """Returns the class and all that inherit from it."""
    classes = [kind]
    for subclass in kind.__subclasses__():
        classes += all_subclasses(subclass)
    return classes
