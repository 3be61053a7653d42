"""Steps of torch's optimizers, compiled whole."""

from __future__ import annotations

from typing import Any

import torch

from bench.truth_programs.program import Case, Program

_OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd-momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "adam-amsgrad": ("Adam", {"lr": 0.001, "amsgrad": True}),
    "adam-single": ("Adam", {"lr": 0.001, "foreach": False}),
    "adamw": ("AdamW", {"lr": 0.001, "weight_decay": 0.1}),
    "adagrad": ("Adagrad", {"lr": 0.01}),
    "adadelta": ("Adadelta", {"lr": 1.0, "weight_decay": 0.01}),
    "adamax": ("Adamax", {"lr": 0.002}),
    "nadam": ("NAdam", {"lr": 0.002}),
    "radam": ("RAdam", {"lr": 0.002}),
    "rmsprop": ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.5}),
    "rprop": ("Rprop", {"lr": 0.01}),
    "asgd": ("ASGD", {"lr": 0.01}),
    "adafactor": ("Adafactor", {"lr": 0.01}),
}
_SHAPES = ((16, 12), (12,), (5, 7, 3))


def programs() -> list[Program]:
    found = []
    for name, (kind, options) in _OPTIMIZERS.items():

        def cases(device: str, kind: str = kind, options: dict[str, Any] = options) -> list[Case]:
            parameters = [torch.nn.Parameter(torch.randn(s, device=device)) for s in _SHAPES]
            for parameter in parameters:
                parameter.grad = torch.randn_like(parameter)
            optimizer = getattr(torch.optim, kind)(parameters, **options)
            optimizer.step()  # states exist from the first step on

            def step() -> None:
                optimizer.step()

            return [Case(step)]

        found.append(Program(f"optimizer-{name}", cases))
    return found
