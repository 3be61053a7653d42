import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(20, 128), nn.Linear(20, 128)
        self.head = nn.Linear(128, 5)

    def forward(self, x):
        both = torch.cat([self.left(x).relu(), self.right(x).tanh()], -1)
        return self.head(both)


net = torch.compile(Net())
for step in range(20):
    out = net(torch.randn(32, 20))
print(out.shape)
