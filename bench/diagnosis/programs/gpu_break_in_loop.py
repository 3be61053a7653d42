import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(512, 512)

    def forward(self, x):
        y = x + torch.tanh(self.lin(x))
        print(f"peak {y.max():.3f}")
        return y


net = torch.compile(nn.Sequential(*(Block() for _ in range(24))).cuda().eval())
x = torch.randn(256, 512, device="cuda")
with torch.no_grad():
    for step in range(80):
        y = net(x)
print(y.mean())
