import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4096, 8192), nn.GELU(), nn.Linear(8192, 4096)).cuda()
net = torch.compile(model)
opt = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
x = torch.randn(4096, 4096, device="cuda")
for step in range(40):
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print(loss)
