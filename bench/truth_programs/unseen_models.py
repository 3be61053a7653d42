"""Models as their libraries publish them, of families that no other file here has.

`unseen_models.json` says which, of what sizes, and the shapes of their inputs; `numbers` are the
inputs of whole numbers, and between what.
They were recorded and scored before anybody looked at a line of them. Each is used and then
trained, at a small size, with random weights.

Held back are efficientvim_m1, res2net50_26w_4s, hrnet_w18_small, Perceiver, ghostnetv2,
bat_resnext26ts, RTDetr and all from Dinov2WithRegisters on. Of tiny_vit_5m_224,
mambaout_femto, Dbrx, Encodec, Gemma3n and ViTMAE wrong lines of Triton's kernels have been looked
at, none of C++. The others have been looked at since; of skresnet18 only the total, to choose
between rules. LongT5 and Qwen3Next cannot be recorded: torch refuses the one, the other takes too
long.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from bench.truth_programs.program import Case, Program
from bench.truth_programs.tables import table

_TABLE = table(__file__)
_Inputs = dict[str, torch.Tensor | int]


def programs() -> list[Program]:
    makers: dict[str, Callable[[], tuple[Any, _Inputs]]] = {}
    if importlib.util.find_spec("timm"):
        makers |= {name: partial(_timm, name) for name in _TABLE["timm"]}
    if importlib.util.find_spec("torchvision"):
        makers |= {"mnasnet0_5": _mnasnet, "raft_small": _raft, "inception_v3": _inception}
    if importlib.util.find_spec("transformers"):
        makers |= {name: partial(_transformer, name) for name in _TABLE["transformers"]}
    return [Program(f"unseen-{name}", partial(_cases, make)) for name, make in makers.items()]


def _cases(make: Callable[[], tuple[Any, _Inputs]], device: str) -> list[Case]:
    cases = []
    for train in (False, True):
        model, inputs = make()
        given = {
            name: value.to(device) if isinstance(value, torch.Tensor) else value
            for name, value in inputs.items()
        }
        cases.append(Case(model.to(device).train(train), (), given, train))
    return cases


def _timm(name: str) -> tuple[Any, _Inputs]:
    import timm

    made = _TABLE["timm"][name]
    model = timm.create_model(name, **made.get("options", {}))
    return model, {"x": torch.randn(2, 3, made["size"], made["size"])}


def _mnasnet() -> tuple[Any, _Inputs]:
    import torchvision

    return torchvision.models.mnasnet0_5(weights=None), {"x": torch.randn(2, 3, 64, 64)}


def _raft() -> tuple[Any, _Inputs]:
    """With two of its twelve updates, which are alike."""
    import torchvision

    pictures = {name: torch.randn(1, 3, 128, 128) for name in ("image1", "image2")}
    model = torchvision.models.optical_flow.raft_small(weights=None)
    return model, pictures | {"num_flow_updates": 2}


def _inception() -> tuple[Any, _Inputs]:
    import torchvision

    model = torchvision.models.inception_v3(weights=None, aux_logits=False, init_weights=False)
    return model, {"x": torch.randn(2, 3, 96, 96)}


def _transformer(name: str) -> tuple[Any, _Inputs]:
    import transformers

    kind = getattr(transformers, name)
    made, numbers = _TABLE["transformers"][name], _TABLE["numbers"]
    model = kind(kind.config_class(**made["options"]))
    return model, {
        given: torch.randint(*numbers[given], shape) if given in numbers else torch.randn(shape)
        for given, shape in _TABLE["shapes"][made["inputs"]].items()
    }
