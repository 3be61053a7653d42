import torch

torch.manual_seed(0)
weights = [torch.randn(2048, 2048).half() for _ in range(4)]


@torch.compile
def forward(x):
    for w in weights:
        x = torch.relu(torch.nn.functional.linear(x, w.float()))
        x = x / (x.norm() + 1)
    return x


x = torch.randn(1, 2048)
for step in range(60):
    y = forward(x)
print(y.sum())
