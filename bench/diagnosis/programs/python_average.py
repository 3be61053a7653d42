import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(40)))
net = torch.compile(model)
average = [p.detach().clone() for p in model.parameters()]
opt = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
x = torch.randn(32, 8)
for step in range(80):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
    with torch.no_grad():
        for a, p in zip(average, model.parameters(), strict=True):
            for decay in (0.9, 0.99, 0.999):
                a.mul_(decay).add_(p.detach(), alpha=1 - decay)
print(average[0].norm())
