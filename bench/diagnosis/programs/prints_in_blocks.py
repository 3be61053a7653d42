import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, index, width):
        super().__init__()
        self.index = index
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        x = x + self.b(torch.relu(self.a(x)))
        print(f"block: activations around {x.mean():.4f}")
        return x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(i, 48) for i in range(16))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


model = torch.compile(Model().eval())
x = torch.randn(8, 48)
with torch.no_grad():
    for step in range(200):
        out = model(x)
print(out.sum())
