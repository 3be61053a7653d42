import torch


def shade(x):
    for k in range(1, 7):
        x = x * torch.sigmoid(k * x) + torch.sin(x) * torch.exp(-x.abs()) / k
    return x


fast = torch.compile(shade, backend="eager")
x = torch.randn(900, 900)
for step in range(40):
    y = fast(x)
print(y.mean())
