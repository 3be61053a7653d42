import torch

torch.manual_seed(0)
weights = [torch.randn(8192, 8192, device="cuda") / 90 for _ in range(4)]


@torch.compile
def decode(x):
    for w in weights:
        x = torch.nn.functional.linear(x, w.to(torch.bfloat16)).relu()
    return x


x = torch.randn(8, 8192, device="cuda", dtype=torch.bfloat16)
for step in range(100):
    y = decode(x)
print(y.float().mean())
