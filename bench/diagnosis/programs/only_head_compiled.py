import torch
from torch import nn


class Swish(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.beta, self.shift = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))

    def forward(self, x):
        gate = torch.sigmoid(self.beta * x + self.shift)
        return x * gate + 0.1 * torch.tanh(x) * (1 - gate) + 0.01 * x.abs().sqrt()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*(Swish(256) for _ in range(8)))
        self.head = nn.Linear(256, 8)

    def forward(self, x):
        return self.head(self.body(x).mean(0))


model = Model().eval()
x = torch.randn(4096, 256)
model.head = torch.compile(model.head)
run = model
with torch.no_grad():
    for step in range(40):
        y = run(x)
print(y)
