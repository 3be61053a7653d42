import torch
from torch import Tensor


@torch.library.custom_op("mine::gate", mutates_args=())
def gate(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x) + torch.tanh(x) * torch.exp(-x * x)


@gate.register_fake
def _(x):
    return torch.empty_like(x)


@torch.compile
def block(x):
    for scale in (1.0, 0.7, 0.5, 0.3):
        x = gate(x * scale) + 0.1
    return x


x = torch.randn(8192, 8192, device="cuda")
for step in range(60):
    y = block(x)
print(y.mean())
