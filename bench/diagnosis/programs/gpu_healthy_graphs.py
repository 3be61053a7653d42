import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(512, 512), nn.SiLU()) for _ in range(16)))
net = torch.compile(model.cuda().bfloat16().eval(), mode="reduce-overhead")
x = torch.randn(64, 512, device="cuda", dtype=torch.bfloat16)
with torch.no_grad():
    for step in range(400):
        y = net(x)
print(y.float().mean())
