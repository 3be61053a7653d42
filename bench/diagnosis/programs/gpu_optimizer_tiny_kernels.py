import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(60))).cuda()
net = torch.compile(model)
opt = torch.optim.AdamW(model.parameters(), foreach=False)
x = torch.randn(64, 64, device="cuda")
for step in range(80):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
print(next(model.parameters()).norm())
