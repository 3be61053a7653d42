import torch
from torch import nn

torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        h = torch.relu(self.first(x))
        largest = h.max().item()
        return x + self.second(h / (1 + largest))


model = torch.compile(nn.Sequential(*(Layer(256) for _ in range(12))).cuda().eval())
x = torch.randn(64, 256, device="cuda")
with torch.no_grad():
    for step in range(50_000):
        y = model(x)
print(y.mean().item())
