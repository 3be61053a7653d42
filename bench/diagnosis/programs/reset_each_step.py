import torch
from torch import nn

model = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 1)).eval()
net = torch.compile(model)
x = torch.randn(64, 32)
total = 0.0
with torch.no_grad():
    for step in range(15):
        torch._dynamo.reset()  # free the memory of the last step
        total += float(net(x).mean())
print(total)
