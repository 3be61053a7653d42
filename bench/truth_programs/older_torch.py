"""What the record of a capture needs of Inductor, given to torch 2.1 to 2.10.

The record follows the newest torch. Truth is also wanted of older ones, whose debug folders people
send; here their modules get the names that the record hooks into. Only C++ was compared by hand.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from functools import wraps
from typing import Any, NamedTuple

import torch
from torch._inductor import ir, utils
from torch._inductor.codegen import cpp


class ValueWithLineMap(NamedTuple):
    """A buffer's text as torch 2.11 returns it."""

    value: str
    line_map: list[Any]


def prepare() -> None:
    """Call before anything of the record is imported. Changes nothing for torch 2.11 and later."""
    _name_modules()
    for name in ("replace_acc_name", "replace_cascade_sum_with_add", "move_code_under_inner_loop"):
        if not hasattr(cpp, name):
            setattr(cpp, name, _never_called)
    if not hasattr(cpp.CppKernel, "_gen_reduction_prefix"):
        cpp.CppKernel._gen_reduction_prefix = _never_called
    if not hasattr(utils, "ValueWithLineMap"):
        _name_line_map()
    if not hasattr(cpp.CppScheduling, "define_kernel"):
        _define_cpp_kernels()
        _own_conversions()


def _never_called(*_: object, **__: object) -> None:
    raise NotImplementedError("this torch has no such function")


def _name_modules() -> None:
    if importlib.util.find_spec("torch._inductor.async_compile") is None:
        from torch._inductor import codecache

        _add_module("torch._inductor.async_compile", AsyncCompile=codecache.AsyncCompile)
    if importlib.util.find_spec("torch._inductor.loop_body") is None:
        _add_module(
            "torch._inductor.loop_body",
            InterpreterShim=ir.InterpreterShim,
            LoopBody=ir.LoopBody,
            LoopBodyBlock=ir.LoopBodyBlock,
        )
    from torch._inductor import loop_body

    if not hasattr(loop_body, "LightTracer"):
        loop_body.LightTracer = _trace_lightly(loop_body.LoopBodyBlock)


def _add_module(name: str, **members: object) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    setattr(importlib.import_module(parent), child, module)


def _trace_lightly(block: Any) -> type:  # noqa: ANN401  # as torch has it
    """Loop bodies get a tracer of their own, so that its nodes can be marked."""

    class LightTracer(torch.fx.Tracer):  # type: ignore[misc]  # torch has no types here
        def create_node(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as torch calls it
            return super().create_node(*args, **kwargs)

    original = block.__init__

    @wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # as torch calls it
        usual, torch.fx.Tracer = torch.fx.Tracer, LightTracer
        try:
            original(self, *args, **kwargs)
        finally:
            torch.fx.Tracer = usual

    block.__init__ = init
    return LightTracer


def _name_line_map() -> None:
    original = utils.IndentedBuffer.getvaluewithlinemap

    @wraps(original)
    def take(self: Any) -> ValueWithLineMap:  # noqa: ANN401  # as torch calls it
        return ValueWithLineMap(*original(self))

    utils.IndentedBuffer.getvaluewithlinemap = take


def _own_conversions() -> None:
    """Before 2.3 every store of a small float gets a conversion, and the one that a node asked for
    is dropped: the new one belongs to that node."""
    from inductorscope.capturing.record.origins import OWNER

    original = torch.fx.Graph.call_method

    @wraps(original)
    def call_method(self: Any, name: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as torch calls it
        node = original(self, name, *args, **kwargs)
        given = node.args[1] if name == "to_dtype" and len(node.args) > 1 else None
        if isinstance(given, torch.fx.Node) and OWNER in given.meta:
            node.meta[OWNER] = given.meta[OWNER]
        return node

    torch.fx.Graph.call_method = call_method


def _define_cpp_kernels() -> None:
    """Before 2.3 the wrapper defines C++ kernels, under a name that it is given."""
    from inductorscope.capturing.record.lines import Texts
    from torch._inductor.codegen.wrapper import WrapperCodeGen

    def define(_: object, src_code: str, __: object, name: str, write: Any) -> str:  # noqa: ANN401
        write()
        return name

    cpp.CppScheduling.define_kernel = define
    original, keep = WrapperCodeGen.define_kernel, Texts.keep

    @wraps(original)
    def define_kernel(
        self: Any,  # noqa: ANN401  # as torch calls it
        name: str,
        kernel: str,
        metadata: str | None = None,
        cuda: bool = True,
    ) -> None:
        def write() -> None:
            original(self, name, kernel, metadata, cuda)

        if cuda:
            write()
        else:
            cpp.CppScheduling.define_kernel(None, kernel, (), name, write)

    WrapperCodeGen.define_kernel = define_kernel
    # The text is changed after it is taken from its buffer.
    Texts.keep = lambda self, text, origins: keep(self, text.replace("#pragma CMT", "//"), origins)  # type: ignore[method-assign]
