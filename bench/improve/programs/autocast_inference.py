import torch
from torch import nn

torch.manual_seed(0)
layers = []
for _ in range(6):
    layers += [nn.Linear(1024, 1024), nn.GELU()]
model = torch.compile(nn.Sequential(*layers).eval())
x = torch.randn(1, 1024)
with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
    for step in range(20_000):
        y = model(x)
print(y.float().mean())
