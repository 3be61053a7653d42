import torch
from torch import nn


class Smooth(nn.Module):
    def __init__(self, n=1024):
        super().__init__()
        self.register_buffer("grid", torch.rand(n, 3))
        self.width = nn.Parameter(torch.tensor(0.1))

    def forward(self, values):
        kernel = torch.softmax(-torch.cdist(self.grid, self.grid) * 10, -1)
        return kernel @ values * self.width


net = torch.compile(Smooth())
values = torch.randn(1024, 4)
with torch.no_grad():
    for step in range(50):
        out = net(values)
print(out.mean())
