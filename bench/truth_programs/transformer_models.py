"""Models of the transformers library, made from configurations at tiny sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from bench.truth_programs.program import Case, Program
from bench.truth_programs.tables import table


@dataclass(frozen=True)
class _Made:
    config: str
    model: str
    inputs: str
    options: dict[str, Any] = field(default_factory=dict)
    dtype: str | None = None
    dynamic: bool | None = None
    autocast: bool = False


_MODELS = {name: _Made(**made) for name, made in table(__file__)["models"].items()}


def programs() -> list[Program]:
    found = []
    for name, made in _MODELS.items():
        for train in (False, True):

            def cases(device: str, made: _Made = made, train: bool = train) -> list[Case]:
                return [_case(made, device, train)]

            found.append(Program(f"transformers-{name}-{'train' if train else 'infer'}", cases))
    return found


def _case(made: _Made, device: str, train: bool) -> Case:
    import transformers

    options = dict(made.options)
    config = getattr(transformers, made.config)(**options)
    config.use_cache = False
    dtype = getattr(torch, made.dtype) if made.dtype else None
    model = getattr(transformers, made.model)(config).to(device, dtype).train(train)
    inputs = _inputs(made.inputs, device, dtype)

    def forward(**inputs: torch.Tensor) -> Any:  # noqa: ANN401  # tuples of the library's making
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=made.autocast):
            return model(**inputs)

    return Case(forward, (), inputs, train, made.dynamic)


def _inputs(kind: str, device: str, dtype: torch.dtype | None) -> dict[str, torch.Tensor]:
    ids = torch.randint(3, 90, (2, 14), device=device)
    if kind == "ids":
        return {"input_ids": ids}
    if kind == "pairs":
        return {"input_ids": ids, "decoder_input_ids": ids[:, :9]}
    if kind == "pixels":
        return {"pixel_values": torch.randn(2, 3, 16, 16, device=device, dtype=dtype)}
    if kind == "wave":
        return {"input_values": torch.randn(2, 400, device=device, dtype=dtype)}
    return {
        "input_features": torch.randn(2, 8, 40, device=device, dtype=dtype),
        "decoder_input_ids": ids[:, :9],
    }
