"""Loads the model of a spec, and makes a step that runs eagerly or compiled."""

import importlib
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from inductorscope.capturing.builtin import BY_NAME
from inductorscope.capturing.inside.untyped import Call, Untyped
from inductorscope.capturing.permission import Loading, NotAllowed
from inductorscope.capturing.spec import CaptureSpec, SpecError
from inductorscope.formats.call_shapes import Value, read_shapes

SEED = 20230920


@dataclass(frozen=True)
class Model:
    """A callable with its arguments, on the requested device and in the requested dtype."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    train: bool
    file: str | None
    """File of the factory."""

    def step(self, function: Untyped) -> Call:
        """Returns a call of the function: forward, and backward when training."""
        if not self.train:

            def infer() -> Untyped:
                with torch.no_grad():
                    return function(*self.args, **self.kwargs)

            return infer

        parameters = list(self.function.parameters())

        def train() -> Untyped:
            for parameter in parameters:
                parameter.grad = None
            loss = total(function(*self.args, **self.kwargs))
            loss.backward()
            return loss

        return train


def load(spec: CaptureSpec, loading: Loading) -> Model:
    """Makes the model. Raises SpecError if the factory is unsuitable."""
    torch.manual_seed(SEED)
    factory = find_factory(spec, loading)
    made = _call_factory(factory, spec)
    function, args, kwargs = _parts(spec.model, made)
    if spec.train and not isinstance(function, torch.nn.Module):
        raise SpecError(f"{spec.model} is not a torch.nn.Module, so it has nothing to train.")
    if isinstance(function, torch.nn.Module):
        function = convert(function, spec)
        function.train(spec.train)
    return Model(
        function,
        tuple(convert(args, spec)),
        dict(convert(kwargs, spec)),
        spec.train,
        inspect.getsourcefile(inspect.unwrap(factory)),
    )


def with_shapes(model: Model, shapes: str) -> Iterator[Model]:
    """Returns the model with each of the given arguments. Raises SpecError for an unknown name."""
    for values in read_shapes(shapes).calls:
        args, kwargs = reshaped(model.function, model.args, model.kwargs, values)
        yield replace(model, args=args, kwargs=kwargs)


def reshaped(
    function: Untyped, args: tuple[Any, ...], kwargs: dict[str, Any], values: dict[str, Value]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a call, the named ones with other shapes or values. A tensor repeats
    its own elements, so that indices stay valid. Raises SpecError for an unknown name."""
    called = function.forward if isinstance(function, torch.nn.Module) else function
    bound = inspect.signature(called).bind(*args, **kwargs)
    for name, value in values.items():
        if name not in bound.arguments:
            raise SpecError(f"The model is not called with an argument {name}.")
        known = bound.arguments[name]
        if not isinstance(known, torch.Tensor):
            bound.arguments[name] = value
            continue
        if not isinstance(value, tuple):
            raise SpecError(f"{name} is a tensor; give its shape, such as (8, 128).")
        count = math.prod(value)
        if known.numel() == 0 and count:
            raise SpecError(f"{name} is empty, so it cannot fill the shape {value}.")
        flat = known.detach().reshape(-1)
        filled = flat[torch.arange(count, device=flat.device) % max(len(flat), 1)]
        # Copy it, because Dynamo guards on the tensor behind a view.
        filled = filled.reshape(value).clone()
        bound.arguments[name] = filled.requires_grad_(known.requires_grad)
    return bound.args, bound.kwargs


def find_factory(spec: CaptureSpec, loading: Loading) -> Callable[..., Any]:
    """Returns the function that makes the model."""
    sys.path[:0] = loading.paths
    if spec.kind == "built-in":
        built_in = BY_NAME[spec.model]
        if built_in.missing:
            raise SpecError(
                f"The built-in model {spec.model} needs {', '.join(built_in.missing)}, "
                "which is not installed."
            )
        module = importlib.import_module(f"inductorscope.capturing.models.{built_in.module}")
        make: Callable[..., Any] = module.make
        return make
    reference, _, name = spec.model.rpartition(":")
    module = _load_file(Path(loading.file)) if loading.file else _load_module(reference)
    factory = getattr(module, name, None)
    if not callable(factory):
        raise SpecError(f"{reference} has no function {name}.")
    if not loading.trusted:
        _check_origin(spec.model, module, factory, loading)
    function: Callable[..., Any] = factory
    return function


def _check_origin(name: str, module: Untyped, factory: Untyped, loading: Loading) -> None:
    """Refuses functions that a permitted file merely imports.

    If the file contained `from os import system`, name and text arguments would be a command.
    """
    file = Path(getattr(module, "__file__", None) or "/").resolve()
    of_folder = any(
        file.is_relative_to(path) for path in loading.paths
    )  # not a module loaded before
    package = str(getattr(factory, "__module__", None)).partition(".")[0]
    if not of_folder or package != module.__name__.partition(".")[0]:
        raise NotAllowed(
            f"The factory {name} may not be called from the web: the function comes from "
            "elsewhere than the worker's folders. Name one that is written there, or run it from "
            "the command line on the machine (inductorscope capture …)."
        )


def total(output: Untyped) -> torch.Tensor:
    """Returns a loss for backward: the output itself if it is a scalar, else the sum of means."""
    if isinstance(output, torch.Tensor) and output.ndim == 0:
        return output
    means = [tensor.float().mean() for tensor in _floating(output) if tensor.requires_grad]
    if not means:
        raise SpecError("The model's output has no floating-point tensor to train on.")
    return torch.stack(means).sum()


def _load_file(file: Path) -> Untyped:
    module_spec = importlib.util.spec_from_file_location(file.stem, file)
    if module_spec is None or module_spec.loader is None:
        raise SpecError(f"{file} cannot be loaded as a module.")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[file.stem] = module
    module_spec.loader.exec_module(module)
    return module


def _load_module(name: str) -> Untyped:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name + ".").startswith(error.name + "."):
            raise SpecError(f"The module {error.name} does not exist.") from None
        raise


def _call_factory(factory: Callable[..., Any], spec: CaptureSpec) -> Untyped:
    """Calls the factory with the text arguments, and with `train` if it takes that."""
    try:
        takes_train = "train" in inspect.signature(factory).parameters
    except (TypeError, ValueError):  # built-in functions without a signature
        takes_train = False
    keywords = {"train": spec.train} if takes_train else {}
    return factory(*spec.args, **keywords)


def _parts(name: str, made: Untyped) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    if isinstance(made, tuple) and len(made) in (2, 3):
        function, args = made[:2]
        kwargs = made[2] if len(made) == 3 else {}
        if callable(function) and isinstance(args, tuple | list) and isinstance(kwargs, dict):
            return function, tuple(args), kwargs
    raise SpecError(
        f"The factory {name} must return (callable, arguments) or (callable, arguments, keyword "
        f"arguments); it returned {type(made).__name__}."
    )


def convert(value: Untyped, spec: CaptureSpec) -> Untyped:
    """Moves modules and tensors to the device, and floating-point ones to the dtype."""
    dtype = None if spec.dtype is None else getattr(torch, spec.dtype)
    if isinstance(value, torch.nn.Module):
        value = value.to(spec.device)
        return value if dtype is None else value.to(dtype)
    if isinstance(value, torch.Tensor):
        floating = dtype is not None and value.is_floating_point()
        return value.to(spec.device, dtype) if floating else value.to(spec.device)
    if isinstance(value, dict):
        return {key: convert(item, spec) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(convert(item, spec) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(convert(item, spec) for item in value)
    return value


def _floating(value: Untyped) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _floating(item)]
    return []
