# mypy: allow-subclassing-any
"""Recurrent cells, unrolled by the compiler."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from bench.truth_programs.program import Case, Program


class Unrolled(nn.Module):
    """A cell run over a short sequence, with a head behind."""

    def __init__(self, cell: nn.Module, width: int, steps: int) -> None:
        super().__init__()
        self.cell = cell
        self.steps = steps
        self.head = nn.Linear(width, 11)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        state = (hidden, hidden * 0.5) if isinstance(self.cell, nn.LSTMCell) else hidden
        outputs = []
        for step in range(self.steps):
            state = self.cell(x[:, step], state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return self.head(torch.stack(outputs, 1)).log_softmax(-1)


class MinimalGatedUnit(nn.Module):
    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.forget = nn.Linear(inputs + width, width)
        self.update = nn.Linear(inputs + width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        gate = torch.sigmoid(self.forget(torch.cat([x, state], -1)))
        new = torch.tanh(self.update(torch.cat([x, gate * state], -1)))
        return self.norm((1 - gate) * state + gate * new)


class LinearRecurrence(nn.Module):
    """A state-space layer's selective recurrence, written as scans."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.decay = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        log_decay = -torch.nn.functional.softplus(self.decay(x))
        total = torch.cumsum(log_decay, 1)
        state = torch.cumsum(self.value(x) * torch.exp(-total), 1) * torch.exp(total)
        return state * torch.nn.functional.silu(self.gate(x))


def programs() -> list[Program]:
    found = []
    cells: dict[str, Callable[[], nn.Module]] = {
        "lstm-cell": lambda: nn.LSTMCell(12, 24),
        "gru-cell": lambda: nn.GRUCell(12, 24),
        "rnn-cell": lambda: nn.RNNCell(12, 24, nonlinearity="relu"),
        "gated-unit": lambda: MinimalGatedUnit(12, 24),
    }
    for name, make in cells.items():
        for train in (False, True):

            def cases(
                device: str, make: Callable[[], nn.Module] = make, train: bool = train
            ) -> list[Case]:
                model = Unrolled(make(), 24, 4).to(device).train(train)
                inputs = (torch.randn(3, 4, 12, device=device), torch.randn(3, 24, device=device))
                return [Case(model, inputs, train=train)]

            found.append(Program(f"{name}-{'train' if train else 'infer'}", cases))
    for train in (False, True):

        def scan_cases(device: str, train: bool = train) -> list[Case]:
            model = LinearRecurrence(20).to(device).train(train)
            return [Case(model, (torch.randn(2, 33, 20, device=device),), train=train)]

        found.append(Program(f"linear-recurrence-{'train' if train else 'infer'}", scan_cases))
    return found
