import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 32, 3, 2, 1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.Conv2d(32, 64, 3, 2, 1),
    nn.BatchNorm2d(64),
    nn.ReLU(),
    nn.Conv2d(64, 128, 3, 2, 1),
    nn.BatchNorm2d(128),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(128, 10),
)
net = torch.compile(model.eval().to(memory_format=torch.channels_last))
x = torch.randn(16, 3, 128, 128).to(memory_format=torch.channels_last)
with torch.no_grad():
    for step in range(40):
        y = net(x)
print(y.argmax(1))
