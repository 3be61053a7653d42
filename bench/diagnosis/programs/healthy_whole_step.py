import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1536), nn.SiLU(), nn.Linear(1536, 512))
net = torch.compile(model)
opt = torch.optim.Adam(model.parameters(), lr=torch.tensor(1e-3))
update = torch.compile(opt.step)
x = torch.randn(640, 512)
for step in range(40):
    loss = (net(x) - x).abs().mean()
    opt.zero_grad()
    loss.backward()
    update()
print(float(loss))
