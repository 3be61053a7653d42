import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(nn.Linear(12, 12) for _ in range(30)))
net = torch.compile(model)
opt = torch.optim.SGD(model.parameters(), lr=0.05, foreach=True)
x = torch.randn(16, 12)
for step in range(80):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    total = 0.0
    for p in model.parameters():
        total += p.grad.norm(2).item() ** 2
        total += 0.0 * p.grad.abs().max().item()
        total += 0.0 * float(torch.isnan(p.grad).any())
    for p in model.parameters():
        p.grad.mul_(min(1.0, 1.0 / (total**0.5 + 1e-6)))
    opt.step()
print(next(model.parameters()).norm())
