import torch
from torch import nn

torch.manual_seed(0)


class Int8Linear(nn.Module):
    def __init__(self, n):
        super().__init__()
        weight = torch.randn(n, n) / n**0.5
        scale = weight.abs().amax(1, keepdim=True) / 127
        self.register_buffer("quantized", (weight / scale).round().to(torch.int8))
        self.register_buffer("scale", scale)

    def forward(self, x):
        return nn.functional.linear(x, self.quantized.float() * self.scale)


model = nn.Sequential(*(nn.Sequential(Int8Linear(1024), nn.ReLU()) for _ in range(6)))
fast = torch.compile(model.eval())
x = torch.randn(4, 1024)
with torch.no_grad():
    for step in range(20_000):
        y = fast(x)
print(y.mean())
