import torch
from torch import nn


class QuantLinear(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, n) / n**0.5)

    def forward(self, x):
        scale = x.abs().max().item() / 127
        return torch.round(x / scale) @ self.weight.t() * scale


model = nn.Sequential(*[nn.Sequential(QuantLinear(64), nn.GELU()) for _ in range(12)]).eval()
fast = torch.compile(model)
x = torch.randn(16, 64)
with torch.no_grad():
    for step in range(200):
        y = fast(x)
print(y.std())
