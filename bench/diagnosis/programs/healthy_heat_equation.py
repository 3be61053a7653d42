import torch


@torch.compile
def advance(u):
    inner = u[1:-1, 1:-1]
    flow = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner
    return torch.nn.functional.pad(inner + 0.2 * flow, (1, 1, 1, 1))


u = torch.zeros(2000, 2000)
u[800:1200, 800:1200] = 1.0
for step in range(60):
    u = advance(u)
print(u.sum())
