import torch
from torch import nn


class Annealed(nn.Module):
    def __init__(self, d=256):
        super().__init__()
        self.lin = nn.Linear(d, d)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        temperature = 1.0 + self.calls / 1000
        h = self.lin(x)
        for _ in range(6):
            h = torch.tanh(h / temperature) * torch.sigmoid(h) + 0.1 * torch.sin(h)
        return h


model = Annealed().eval()
compiled = torch.compile(model)
x = torch.randn(512, 256)
with torch.no_grad():
    for step in range(50):
        y = compiled(x)
print(y.mean())
