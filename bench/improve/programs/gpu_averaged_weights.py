import torch

torch.manual_seed(0)
sizes = [(64 * (i % 7 + 1), 32 * (i % 5 + 1)) for i in range(120)]
weights = [torch.randn(size, device="cuda") for size in sizes]
averages = [weight.clone() for weight in weights]


@torch.compile
def average(decay):
    """Moves averages toward the weights, and returns how far each weight is from its average."""
    distances = []
    for weight, mean in zip(weights, averages, strict=True):
        mean.mul_(decay).add_(weight * (1 - decay))
        distances.append((weight - mean).abs())
    return distances


decay = torch.tensor(0.999, device="cuda")
for step in range(100_000):
    distances = average(decay)
    if step % 100 == 0:
        torch.cuda.synchronize()
print(distances[0].sum())
