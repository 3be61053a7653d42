"""Every operator of torch's own database, compiled by itself on samples of the database."""

from __future__ import annotations

import hashlib
import sys
import types
import unittest
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from typing import Any

import torch
from torch.utils import _pytree

from bench.truth_programs.program import Case, Program

_DTYPES = ("float32", "float64", "bfloat16", "float16", "int64", "int32", "uint8", "bool")
_FLOATS = ("float32", "float32", "bfloat16", "float16", "float64")
_SAMPLES = 3
_LEFT_OUT = ("sparse", "jiterator", "empty", "new_empty", "to_sparse", "nonzero", "item",
             "linalg.lapack", "geqrf", "ormqr", "svd", "eig", "_refs.")  # fmt: skip


def programs() -> list[Program]:
    found = []
    for operator in _database():
        name = operator.name if not operator.variant_test_name else (
            f"{operator.name}.{operator.variant_test_name}"
        )  # fmt: skip
        if any(word in name for word in _LEFT_OUT):
            continue
        dtype = _dtype_for(name, operator)
        if dtype is None:
            continue
        found.append(
            Program(f"op-{name.replace('.', '-')}-{str(dtype)[6:]}", _maker(operator, dtype))
        )
    return found


def _database() -> list[Any]:
    """torch's test helpers want a package for expected texts, of which nothing is used here."""
    if "expecttest" not in sys.modules:
        try:
            import_module("expecttest")
        except ModuleNotFoundError:
            stand_in = types.ModuleType("expecttest")
            vars(stand_in).update(TestCase=unittest.TestCase, ACCEPT=False)
            sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def _dtype_for(name: str, operator: Any) -> torch.dtype | None:  # noqa: ANN401  # torch's own, untyped
    """One of the operator's dtypes, the same on every machine; floats twice as often."""
    number = hashlib.sha256(name.encode()).digest()[1]
    wanted = _FLOATS if number % 3 else _DTYPES
    allowed = set(operator.dtypes)
    for step in range(len(wanted)):
        dtype = getattr(torch, wanted[(number + step) % len(wanted)])
        if dtype in allowed:
            return dtype
    return next((d for d in (torch.float32, torch.int64, torch.bool) if d in allowed), None)


def _maker(operator: Any, dtype: torch.dtype) -> Callable[[str], list[Case]]:  # noqa: ANN401  # torch's own, untyped
    def make(device: str) -> list[Case]:
        train = bool(operator.supports_autograd and dtype.is_floating_point)
        samples = operator.sample_inputs(device, dtype, requires_grad=train)
        picked = [sample for sample in islice(samples, 12) if _worth(sample)][:_SAMPLES]
        return [_case(operator.op, sample, train and index == 0)
                for index, sample in enumerate(picked)]  # fmt: skip

    return make


def _worth(sample: Any) -> bool:  # noqa: ANN401  # torch's own, untyped
    tensors = [leaf for leaf in _pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
               if isinstance(leaf, torch.Tensor)]  # fmt: skip
    return bool(tensors) and all(0 < tensor.numel() < 100_000 for tensor in tensors)


def _case(function: Callable[..., Any], sample: Any, train: bool) -> Case:  # noqa: ANN401  # torch's own, untyped
    """The sample's tensors become arguments, all else is constant."""
    leaves, shape = _pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def run(*tensors: torch.Tensor) -> Any:  # noqa: ANN401  # torch's own, untyped
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        first, args, kwargs = _pytree.tree_unflatten(filled, shape)
        return function(first, *args, **kwargs)

    tensors = tuple(leaves[place] for place in places)
    return Case(run, tensors, train=train and any(tensor.requires_grad for tensor in tensors))
