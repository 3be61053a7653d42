import torch


@torch.compiler.disable
def soften(x):
    return x * 0.98 + 0.01


@torch.compile
def grade(x):
    for gain in (1.1, 0.9, 1.2, 0.8, 1.05, 0.95):
        x = soften(x * gain).clamp(-4, 4)
    return x


frame = torch.randn(10_000, 10_000, device="cuda")
for step in range(60):
    y = grade(frame)
print(y.mean())
