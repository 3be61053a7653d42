import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(256, 256)

    def forward(self, x):
        h = self.lin(x)
        for k in range(1, 6):
            h = h * torch.sigmoid(k * h) + torch.sin(h) * torch.exp(-h.abs()) / k
        return h - h.mean(1, keepdim=True)


net = torch.compile(Mixer().cuda().eval(), dynamic=False)
with torch.no_grad():
    for step in range(80):
        length = 800 + 16 * (step * 7 % 40)
        y = net(torch.randn(64, length, 256, device="cuda"))
print(y.mean())
