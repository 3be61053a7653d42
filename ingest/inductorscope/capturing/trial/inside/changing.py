"""Makes the program in this process run with a change; the program's files stay as they are."""

import inspect
import pkgutil
from collections.abc import Callable
from functools import wraps

import torch
from torch import nn

from inductorscope.capturing.inside.options import parse_value, set_everywhere
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.spec import SpecError
from inductorscope.formats.change import Change, Mark

Around = Callable[[str, Untyped, Untyped], Untyped]
"""Takes the name of a compiled function, the function as written, and as compiled; returns what is
called instead."""
FORWARD = "forward"
"""The name of a compiled module's function in torch's logs."""
REPEATED = 3
"""So many modules of one class in a list are repeated blocks."""


def install(change: Change | None, around: Around | None, *, trusted: bool) -> None:
    """Makes every later `torch.compile` follow the change, and passes what it returns through
    `around`. Sets nothing unless the change is valid. Raises SpecError."""
    change = change or Change()
    settings = _settings(change, trusted=trusted)
    ignored = [_named(name) for name in change.ignored]
    reordered = [_named(name) for name in change.reordered]

    def configure() -> None:
        for module, key, value in settings:
            set_everywhere(module, key, value)
        if change.float32_products:
            torch.set_float32_matmul_precision(change.float32_products)
        if change.threads:
            torch.set_num_threads(change.threads)

    configure()
    if ignored or reordered:
        from torch._dynamo import config

        config.ignore_logging_functions.update(ignored)
        config.reorderable_logging_functions.update(reordered)
    if change.optimizer:
        _compile_optimizers()
    if change.workers:
        _load_in_workers(change.workers)
    _follow_compile(change, around, configure)


def _settings(change: Change, *, trusted: bool) -> list[tuple[Untyped, str, Untyped]]:
    """Returns config, key and value of each setting. Raises SpecError."""
    if not (change.inductor or change.dynamo):
        return []
    from torch._dynamo import config as dynamo
    from torch._inductor import config as inductor

    return [
        (config, key, parse_value(config, key, text, trusted=trusted))
        for config, values in ((inductor, change.inductor), (dynamo, change.dynamo))
        for key, text in values.items()
    ]


def _named(name: str) -> Untyped:
    """Returns the function with a full name, such as `logging.Logger.warning`. Raises SpecError."""
    try:
        return pkgutil.resolve_name(name if "." in name else f"builtins.{name}")
    except (ImportError, AttributeError, ValueError):
        raise SpecError(f"There is no function {name!r} to ignore.") from None


def _compile_optimizers() -> None:
    """Compiles the step of each class of optimizer when its first object is made."""
    made = torch.optim.Optimizer.__init__

    @wraps(made)
    def init(self: Untyped, *args: Untyped, **kwargs: Untyped) -> None:
        made(self, *args, **kwargs)
        step = type(self).step
        if hasattr(step, "scope_compiled"):
            return
        compiled = torch.compile(step)

        @wraps(step)
        def compiled_step(optimizer: Untyped, *args: Untyped, **kwargs: Untyped) -> Untyped:
            return compiled(optimizer, *args, **kwargs)

        compiled_step.scope_compiled = True  # type: ignore[attr-defined]
        type(self).step = compiled_step

    torch.optim.Optimizer.__init__ = init


def _load_in_workers(workers: int) -> None:
    from torch.utils.data import DataLoader

    made = DataLoader.__init__
    signature = inspect.signature(made)

    @wraps(made)
    def init(*args: Untyped, **kwargs: Untyped) -> None:
        given = signature.bind(*args, **kwargs)
        if not given.arguments.get("num_workers"):
            given.arguments |= {"num_workers": workers, "persistent_workers": True}
        made(*given.args, **given.kwargs)

    DataLoader.__init__ = init


def _follow_compile(change: Change, around: Around | None, configure: Callable[[], None]) -> None:
    original = torch.compile

    @wraps(original)
    def compile_changed(model: Untyped = None, **options: Untyped) -> Untyped:
        if model is None:
            return lambda function: compile_changed(function, **options)
        configure()  # the program may have set the same
        if change.mode is not None and options.get("backend", "inductor") == "inductor":
            options.pop("options", None)
            options["mode"] = change.mode
        if change.dynamic is not None:
            options["dynamic"] = change.dynamic
        if isinstance(model, nn.Module):
            if change.channels_last:
                model.to(memory_format=torch.channels_last)
            if change.regions and (blocks := repeated_blocks(model)):
                if change.regions == "blocks":
                    for block in blocks:
                        block.compile(**options)
                    return model
                _mark_regions(blocks)
        compiled = original(model, **options)
        named = type(model) if isinstance(model, nn.Module) else model
        name = getattr(named, "__name__", "")
        return _wrapped(compiled, model, name, change, around)

    torch.compile = compile_changed


def repeated_blocks(model: nn.Module) -> list[nn.Module]:
    """Returns the modules of the longest list of modules of one class; empty if none repeats."""
    lists = [
        [*module.children()]
        for module in model.modules()
        if isinstance(module, nn.ModuleList | nn.Sequential)
    ]
    alike = [
        blocks for blocks in lists
        if len(blocks) >= REPEATED and len({type(block) for block in blocks}) == 1
        and any(True for _ in blocks[0].children())
    ]  # fmt: skip
    return max(alike, key=len, default=[])


def _mark_regions(blocks: list[nn.Module]) -> None:
    kind: Untyped = type(blocks[0])
    if not hasattr(kind.forward, "scope_region"):
        region = torch.compiler.nested_compile_region(kind.forward)
        region.scope_region = True
        kind.forward = region


def _wrapped(
    compiled: Untyped, model: Untyped, name: str, change: Change, around: Around | None
) -> Untyped:
    """Returns the compiled function or module, with marks before each call and `around` it."""
    names = (name, FORWARD) if isinstance(model, nn.Module) else (name,)
    own = [mark for mark in change.marks if mark.function in names]
    if not (own or change.no_grad) and around is None:
        return compiled
    call = compiled.forward if isinstance(compiled, nn.Module) else compiled
    if own:
        call = _marking(call, model, own)
    if change.no_grad:
        call = torch.no_grad()(call)
    if around is not None:
        call = around(name, model, call)
    if isinstance(compiled, nn.Module):
        compiled.forward = call
        return compiled
    return wraps(model)(call)


def _marking(call: Untyped, model: Untyped, marks: list[Mark]) -> Untyped:
    """Returns the function, which marks its arguments' sizes before each call."""
    from torch._dynamo.decorators import mark_dynamic, mark_unbacked

    how = {"dynamic": mark_dynamic, "unbacked": mark_unbacked}
    signature = inspect.signature(model.forward if isinstance(model, nn.Module) else model)

    def marked(*args: Untyped, **kwargs: Untyped) -> Untyped:
        given = signature.bind(*args, **kwargs).arguments
        for mark in marks:
            value = given.get(mark.argument)
            if isinstance(value, torch.Tensor) and mark.dimension < value.dim():
                how[mark.how](value, mark.dimension)
        return call(*args, **kwargs)

    return marked
