"""Models of transformers, timm and torchvision, from small configurations with random weights, and
the functions of torch's tutorials."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

Model = tuple[Any, tuple[Tensor, ...]] | tuple[Any, tuple[Tensor, ...], dict[str, Tensor]]
IMAGE = 2, 3, 64, 64
WIDTH: dict[str, int] = {
    "vocab_size": 1000, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 256,
}  # fmt: skip


def words() -> Tensor:
    return torch.randint(1000, (2, 32))


def bert() -> Model:
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(**WIDTH)).eval(), (words(),)


def llama() -> Model:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(**WIDTH, num_key_value_heads=2, use_cache=False)
    return LlamaForCausalLM(config).eval(), (words(),)


def t5() -> Model:
    """An encoder and a decoder."""
    from transformers import T5Config, T5Model

    config = T5Config(
        vocab_size=1000, d_model=128, d_kv=32, d_ff=256, num_heads=4, num_layers=1, use_cache=False
    )
    return T5Model(config).eval(), (), {"input_ids": words(), "decoder_input_ids": words()}


def of_timm(name: str, **sizes: int | tuple[int, ...]) -> Model:
    import timm

    with _disable_current_modes():  # timm computes with values, which a pretended GPU has not
        model = timm.create_model(name, **sizes)
    return model.eval(), (torch.randn(IMAGE),)


def convnext() -> Model:
    return of_timm("convnext_atto", depths=(1, 1, 1, 1), dims=(32, 64, 96, 128))


def efficientnet() -> Model:
    """The first blocks of EfficientNet-B0."""
    from timm.models._efficientnet_builder import decode_arch_def
    from timm.models.efficientnet import EfficientNet

    blocks = ["ds_r1_k3_s1_e1_c16_se0.25", "ir_r1_k3_s2_e6_c24_se0.25", "ir_r1_k5_s2_e6_c40_se0.25"]
    own = decode_arch_def([[block] for block in blocks])
    model = EfficientNet(own, num_features=128, act_layer=nn.SiLU)
    return model.eval(), (torch.randn(IMAGE),)


def vit() -> Model:
    return of_timm("vit_tiny_patch16_224", depth=2, img_size=64)


def resnet() -> Model:
    from torchvision.models.resnet import BasicBlock, ResNet

    return ResNet(BasicBlock, [1, 1, 1, 1]).eval(), (torch.randn(IMAGE),)


def swin() -> Model:
    from torchvision.models import SwinTransformer

    with _disable_current_modes():  # as in `of_timm`
        model = SwinTransformer([4, 4], 48, [2, 1], [3, 6], [4, 4])
    return model.eval(), (torch.randn(IMAGE),)


def maximum() -> Model:
    """The example that the tutorial on debugging the CPU backend debugs."""

    def foo(x1: Tensor, x2: Tensor) -> Tensor:
        a = torch.neg(x1)
        b = torch.maximum(x2, a)
        return torch.cat([b], dim=0)

    at = torch.uint8
    return foo, (torch.randint(256, (1, 8), dtype=at), torch.randint(256, (8390, 8), dtype=at))


def affine() -> Model:
    """The example that it measures."""

    def func(x: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
        return (x + a + b) * c + d

    row = torch.rand(1, 512)
    return func, (torch.rand(16384, 512), row, torch.zeros(16384, 512), row, row)
