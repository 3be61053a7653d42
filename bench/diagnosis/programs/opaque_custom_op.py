import torch
from torch import Tensor


@torch.library.custom_op("mine::softgate", mutates_args=())
def softgate(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x) + torch.tanh(x) * torch.exp(-x * x)


@softgate.register_fake
def _(x):
    return torch.empty_like(x)


@torch.compile
def block(x):
    for scale in (1.0, 0.7, 0.5):
        x = softgate(x * scale) + 0.1
    return x


x = torch.randn(1024, 1024)
for step in range(40):
    y = block(x)
print(y.mean())
