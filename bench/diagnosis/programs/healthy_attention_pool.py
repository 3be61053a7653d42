import torch
from torch import nn

torch.manual_seed(0)


class Pool(nn.Module):
    def __init__(self, d=256):
        super().__init__()
        self.key, self.value = nn.Linear(d, d), nn.Linear(d, d)
        self.query = nn.Parameter(torch.randn(d) / 16)

    def forward(self, x, mask):
        scores = (self.key(x) @ self.query).masked_fill(mask, -1e9)
        return (scores.softmax(1).unsqueeze(1) @ self.value(x)).squeeze(1)


net = torch.compile(Pool().eval())
x, mask = torch.randn(64, 128, 256), torch.rand(64, 128) > 0.9
with torch.no_grad():
    for step in range(40):
        y = net(x, mask)
print(y.shape)
