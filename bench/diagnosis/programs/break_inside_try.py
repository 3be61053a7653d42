import torch


def check(x):
    if x.max().item() > 1e6:
        raise ValueError("overflow")


@torch.compile
def soft(x):
    try:
        if x.max().item() > 1e6:
            raise ValueError("overflow")
        for k in range(1, 9):
            x = x + torch.sin(k * x) * torch.exp(-x * x) / k - torch.tanh(x) * 0.05
        return x
    except ValueError:
        return torch.zeros_like(x)


x = torch.randn(700, 700)
for step in range(40):
    y = soft(x)
print(y.mean())
