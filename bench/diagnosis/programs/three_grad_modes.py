import torch
from torch import nn

torch.manual_seed(0)
head = nn.Sequential(nn.Linear(100, 200), nn.ReLU(), nn.LayerNorm(200), nn.Linear(200, 10))
score = torch.compile(head)
train, valid, test = torch.randn(3, 128, 100)
for step in range(40):
    a = score(train).mean().detach()
    with torch.no_grad():
        b = score(valid).mean()
    with torch.inference_mode():
        c = score(test).mean()
print(float(a), float(b), float(c))
