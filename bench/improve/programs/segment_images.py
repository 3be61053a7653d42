import torch
from torch import nn


def double(inside, out):
    return nn.Sequential(
        nn.Conv2d(inside, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(),
        nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(),
    )  # fmt: skip


class SmallUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = double(3, 32), double(32, 64)
        self.up, self.last = double(96, 32), nn.Conv2d(32, 5, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        b = nn.functional.interpolate(b, scale_factor=2)
        return self.last(self.up(torch.cat([a, b], 1)))


torch.manual_seed(0)
net = torch.compile(SmallUNet().eval())
images = torch.rand(2, 3, 96, 96)
with torch.no_grad():
    for step in range(20_000):
        masks = net(images).argmax(1)
print(masks.float().mean())
