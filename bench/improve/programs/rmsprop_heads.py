import torch
from torch import nn


class ManyHeads(nn.Module):
    """Regression of forty targets, each with a small head of its own."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(32, 64)
        self.heads = nn.ModuleList(nn.Linear(64, 1) for _ in range(40))

    def forward(self, x):
        h = torch.relu(self.trunk(x))
        return torch.cat([head(h) for head in self.heads], 1)


torch.manual_seed(0)
model = ManyHeads()
net = torch.compile(model)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9, centered=True)
x, y = torch.randn(64, 32), torch.randn(64, 40)
for step in range(20_000):
    loss = nn.functional.smooth_l1_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss)
