import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(24)))
net = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, target = torch.randn(32, 64), torch.randn(32, 64)
for step in range(20_000):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), target)
    loss.backward()
    optimizer.step()
print(loss)
