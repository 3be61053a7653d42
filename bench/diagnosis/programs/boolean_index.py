import torch


@torch.compile
def normalise(x):
    for _ in range(10):
        level = x[x > 0].mean()
        x = torch.tanh(x / level) * 1.1 + 0.01
    return x


x = torch.randn(64, 64)
for step in range(200):
    y = normalise(x)
print(y.mean())
