# mypy: allow-subclassing-any
"""What a script's steps compute in vain."""

import gc
from typing import Any

import pytest

pytestmark = pytest.mark.torch


@pytest.fixture
def teacher() -> Any:
    import torch

    class Teacher(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
            return torch.tanh(self.layer(x) * scale)

        def decode(self, x: torch.Tensor) -> Any:
            return self.layer(x)

    return Teacher()


def test_arguments_that_stay_the_same_are_found_with_their_zeros(teacher: Any) -> None:
    import torch
    from inductorscope.capturing.script.wasted import Arguments

    mask, table, grown = torch.ones(3), torch.zeros(600, 600), torch.ones(3)
    table[:60] = 1

    def step(x: torch.Tensor, mask: torch.Tensor, **rest: torch.Tensor) -> None: ...

    def whole(x: torch.Tensor, table: torch.Tensor, grown: torch.Tensor, mask: object) -> None: ...

    arguments = Arguments()
    for _ in range(3):
        grown.add_(1)
        arguments.look(whole, (torch.ones(3), table), {"grown": grown, "mask": mask}, closely=False)
    found = arguments.unchanged()
    assert found.pop("table") == pytest.approx(0.9)
    assert found == {"mask": None}
    few = Arguments()
    few.look(step, (torch.ones(3), mask), {}, closely=False)
    assert few.unchanged() == {}  # one call tells nothing
    module = Arguments()
    for _ in range(3):
        module.look(teacher.__call__, (mask,), {"scale": 2.0}, closely=False)
    assert module.unchanged() == {"x": None}
    decayed = torch.tensor([1.0, 0.0, 1e-40, -1e-42])
    module.look(teacher.__call__, (decayed,), {}, closely=True)
    assert module.denormal == {"x": 0.5}
    for lengths in ((3, 2), (5, 4)):
        ids = torch.zeros(2, 10, dtype=torch.long)
        for row, length in zip(ids, lengths, strict=True):
            row[:length] = 7
        module.look(teacher.__call__, (ids,), {"scale": ids * 0}, closely=False)
    assert module.padding == {"x": 0.5, "scale": 0.0}  # one value everywhere is no padding
    table, single, words = torch.ones(8, 3), torch.ones(1, 3), torch.ones(1, 9)
    rows = Arguments()
    for at in range(3):
        rows.look(step, (table[at : at + 1], single), {}, closely=False)
    assert rows.rows == {"x": 8}
    rows.look(step, (words[:, 2:3], single), {}, closely=False)
    assert rows.rows == {}


def test_gradients_that_no_optimizer_reads(teacher: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from inductorscope.capturing.script.wasted import unread_gradients

    student = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(student.parameters())
    student(teacher(torch.ones(2, 3))).sum().backward()
    living = [*teacher.modules(), student, optimizer]
    monkeypatch.setattr(gc, "get_objects", lambda: living)
    assert unread_gradients() == {"Teacher.layer": pytest.approx(12 / 16)}
    living.append(torch.optim.SGD(teacher.parameters()))
    assert unread_gradients() == {}
    living[-2:] = [torch.optim.SGD([weight.detach().clone() for weight in student.parameters()])]
    assert unread_gradients() == {}  # it may copy the gradients to tensors of its own
    living[-1:] = [torch.optim.SGD([torch.zeros(8, requires_grad=True)])]
    read = unread_gradients()  # inputs, which are no copies of parameters
    assert read == {"Teacher.layer": pytest.approx(12 / 24), "Linear": pytest.approx(4 / 24)}
    student.half()
    student(torch.ones(2, 3).half()).sum().backward()
    assert unread_gradients() == {}  # its tensors may be parts of copies in float32


def test_what_is_given_to_torch_compile_is_described(teacher: Any) -> None:
    from inductorscope.capturing.script.wasted import wrapped

    found = wrapped(teacher)
    assert (found.name, found.methods, found.file) == ("Teacher", ["decode"], __file__)
    found = wrapped(test_gradients_that_no_optimizer_reads)
    assert (found.name, found.methods) == ("test_gradients_that_no_optimizer_reads", None)
