import torch

torch.manual_seed(0)
N = 4096


@torch.compile
def score(q, k, mask):
    return torch.softmax(q @ k.t() / 8 + mask, -1).amax(1)


q, k = torch.randn(2, N, 64, device="cuda")
for step in range(40):
    mask = torch.triu(torch.full((N, N), -1e9), 1).cuda()
    y = score(q, k, mask)
print(y.mean())
