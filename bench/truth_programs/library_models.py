"""Models as timm, torchvision and transformers publish them, with random weights.

The engine is judged by models that nobody here wrote, those of `library_models.json`. A library
that is not installed is left out.
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
_Make = Callable[[], tuple[Any, tuple[int, ...] | None]]
"""Makes a model and the shape of its input; None for token ids."""


def programs() -> list[Program]:
    """Each model used and trained."""
    makers: dict[str, _Make] = {}
    if _installed("timm"):
        for size, names in _TABLE["timm"].items():
            for name in names:
                makers[f"timm-{name}"] = partial(_timm, name, int(size))
    if _installed("torchvision"):
        for size, names in _TABLE["torchvision"].items():
            for name in names:
                makers[f"torchvision-{name}"] = partial(_vision, name, int(size))
        for name in _TABLE["segmentation"]:
            makers[f"torchvision-{name}"] = partial(_segmentation, name)
        for name in _TABLE["video"]:
            makers[f"torchvision-{name}"] = partial(_video, name)
    if _installed("transformers"):
        for name in _TABLE["transformers"]:
            makers[f"transformers-{name}"] = partial(_transformer, name)
    return [
        Program(f"library-{name}-{'train' if train else 'infer'}", _cases(make, train))
        for name, make in makers.items()
        for train in (False, True)
    ]


def _installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


def _cases(make: _Make, train: bool) -> Callable[[str], list[Case]]:
    def cases(device: str) -> list[Case]:
        model, shape = make()
        model = model.to(device).train(train)
        if shape is not None:
            return [Case(model, (torch.randn(shape, device=device),), train=train)]
        ids = torch.randint(3, 90, (2, 16), device=device)
        given = {"input_ids": ids}
        if model.config.is_encoder_decoder:
            given["decoder_input_ids"] = ids[:, :9]
        return [Case(model, (), given, train=train)]

    return cases


def _timm(name: str, size: int) -> tuple[Any, tuple[int, ...]]:
    import timm

    try:
        model = timm.create_model(name, img_size=size)
    except TypeError:
        model = timm.create_model(name)
    return model, (2, 3, size, size)


def _vision(name: str, size: int) -> tuple[Any, tuple[int, ...]]:
    import torchvision

    return getattr(torchvision.models, name)(weights=None), (2, 3, size, size)


def _segmentation(name: str) -> tuple[Any, tuple[int, ...]]:
    import torchvision

    make = getattr(torchvision.models.segmentation, name)
    return make(weights=None, weights_backbone=None), (2, 3, 64, 64)


def _video(name: str) -> tuple[Any, tuple[int, ...]]:
    import torchvision

    size = (2, 3, 16, 224, 224) if name == "mvit_v1_b" else (2, 3, 16, 64, 64)
    return getattr(torchvision.models.video, name)(weights=None), size


def _transformer(name: str) -> tuple[Any, None]:
    import transformers

    kind = getattr(transformers, name)
    config = kind.config_class()
    known = config.to_dict() | dict.fromkeys(config.attribute_map)
    options = {key: value for key, value in _TABLE["options"].items() if key in known}
    return kind(kind.config_class(**options)), None
