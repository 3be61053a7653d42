import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 25000)).cuda().eval()
net = torch.compile(model)
x = torch.randn(2048, 512, device="cuda")
with torch.no_grad():
    for step in range(25):
        best = net(x).cpu().argmax(-1)
print(best[:5])
