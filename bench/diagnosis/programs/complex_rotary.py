import torch

torch.manual_seed(0)
angle = torch.rand(512, 32)
turn = torch.polar(torch.ones_like(angle), angle)


@torch.compile
def rotate(x):
    x = torch.tanh(x) * 1.5 + torch.sin(x)
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], 32, 2))
    y = torch.view_as_real(z * turn).flatten(-2)
    return y * torch.sigmoid(y)


x = torch.randn(8, 12, 512, 64)
for step in range(40):
    out = rotate(x)
print(out.mean())
