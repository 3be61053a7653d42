import torch


def make_penalty(order):
    return lambda p: sum(p.abs().pow(k + 1).mean() for k in range(order))


@torch.compile
def objective(x, target, penalty):
    predicted = torch.tanh(x) * torch.sigmoid(x) + torch.sin(x) * torch.exp(-x.pow(2))
    for _ in range(8):
        predicted = predicted + 0.1 * torch.cos(predicted) * torch.erf(predicted)
    return (predicted - target).pow(2).sum() + penalty(x)


x, target = torch.randn(2, 400, 400)
for step in range(48):
    penalty = make_penalty(1 + step // 4)
    loss = objective(x, target, penalty)
print(loss)
