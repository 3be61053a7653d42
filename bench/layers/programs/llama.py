"""A Llama of 24 small layers, compiled in one of four ways: `python llama.py WAY`.

whole: the model at once. region: each layer is a nested region of it. blocks: each layer by itself.
apart: each layer by itself too, but with a number of its own, for which it is compiled anew.
"""

import sys

import torch
from torch.compiler import nested_compile_region
from transformers import LlamaConfig, LlamaModel
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

LAYERS = 24


class Numbered(torch.nn.Module):
    """A layer whose output is weighed by its depth."""

    def __init__(self, layer: torch.nn.Module, depth: int) -> None:
        super().__init__()
        self.layer, self.depth = layer, depth

    def forward(self, x: torch.Tensor, **given: object) -> torch.Tensor:
        return self.layer(x, **given) * (1.0 - 0.01 * self.depth)


def main(way: str) -> None:
    torch.manual_seed(0)
    if way == "region":
        LlamaDecoderLayer.forward = nested_compile_region(LlamaDecoderLayer.forward)
    config = LlamaConfig(
        hidden_size=128, intermediate_size=256, num_attention_heads=4, num_hidden_layers=LAYERS,
        vocab_size=1000, use_cache=False,
    )  # fmt: skip
    model = LlamaModel(config).eval()
    if way == "apart":
        torch._dynamo.config.recompile_limit = 64
        layers = enumerate(model.layers)
        model.layers = torch.nn.ModuleList(Numbered(layer, depth) for depth, layer in layers)
    if way in ("blocks", "apart"):
        for layer in model.layers:
            layer.compile()
    run = torch.compile(model) if way in ("whole", "region") else model
    tokens = torch.randint(0, 1000, (4, 64))
    with torch.no_grad():
        for _step in range(20):
            run(tokens)


if __name__ == "__main__":
    main(sys.argv[1])
