"""MobileBERT for question answering, with random weights: nothing is downloaded."""

from typing import Any

import torch
from transformers import MobileBertConfig, MobileBertForQuestionAnswering


def make(train: bool = False) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    config = MobileBertConfig()
    model = MobileBertForQuestionAnswering(config)
    ids = torch.randint(config.vocab_size, (1, 128))
    return model, (), {"input_ids": ids}
