import torch
from torch import nn

torch.manual_seed(0)


class Annealed(nn.Module):
    """Mixes two activations, with more of the second from call to call."""

    def __init__(self, width):
        super().__init__()
        self.calls = 0
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        self.calls += 1
        share = self.calls / (self.calls + 1000)
        for _ in range(5):
            soft = (x * self.weight + 0.5).clamp(-1, 1)
            hard = torch.where(x > 0, x.abs() - 0.1, x * 0.2).square()
            x = share * hard + (1 - share) * soft
        return x


model = torch.compile(Annealed(1024).eval())
x = torch.rand(1024, 1024)
with torch.no_grad():
    for step in range(20_000):
        y = model(x)
print(y.mean())
