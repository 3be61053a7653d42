"""All programs by name. Imports torch; op samples and models are made when they are asked for."""

from __future__ import annotations

from bench.truth_programs import (
    blocks,
    compositions,
    convolutional,
    family_models,
    library_models,
    more_programs,
    operators,
    optimizers,
    recurrent,
    regions,
    small_programs,
    transformer_models,
    unseen_models,
)
from bench.truth_programs.program import Program


def all_programs() -> list[Program]:
    found: list[Program] = []
    for family in (
        transformer_models, recurrent, convolutional, optimizers, compositions, operators,
        blocks, small_programs, more_programs, family_models,
        library_models, unseen_models, regions,
    ):  # fmt: skip
        found += family.programs()
    return found
