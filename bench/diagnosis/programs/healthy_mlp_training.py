import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512))
net = torch.compile(model)
opt = torch.optim.AdamW(model.parameters(), fused=True)
x = torch.randn(1024, 512)
for step in range(40):
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(float(loss))
