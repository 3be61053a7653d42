import torch

torch.manual_seed(0)
wide = torch.randn(2048, 8192)
columns = wide[:, ::4]


@torch.compile
def project(x, w):
    return torch.nn.functional.gelu(x @ w)


x = torch.randn(4, 2048)
for step in range(60):
    y = project(x, columns)
print(y.shape)
