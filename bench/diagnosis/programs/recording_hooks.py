import torch
from torch import nn

model = nn.Sequential(*(nn.Sequential(nn.Linear(40, 40), nn.ReLU()) for _ in range(12))).eval()
seen = {}


def record(module, args, output):
    seen[id(module)] = output.mean().item()


for layer in model:
    layer.register_forward_hook(record)
net = torch.compile(model)
x = torch.randn(8, 40)
with torch.no_grad():
    for step in range(200):
        y = net(x)
print(len(seen), y.mean())
