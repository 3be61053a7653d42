import torch


@torch.compile(dynamic=False)
def pruned(w, x, k):
    score = w.abs().sum(1)
    order = score.argsort(descending=True)
    mask = torch.zeros_like(score)
    mask[order[:k]] = 1.0
    return torch.relu(x @ (w * mask[:, None]).t()) + torch.sin(x) * torch.cos(x) * torch.exp(-x * x)


w = torch.randn(512, 512)
x = torch.randn(64, 512)
for step in range(60):
    keep = 512 - step // 4 * 8
    y = pruned(w, x, keep)
print(y.norm())
