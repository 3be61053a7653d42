import torch


@torch.library.custom_op("shop::discount", mutates_args=())
def discount(price: torch.Tensor, rate: float) -> torch.Tensor:
    return torch.from_numpy(price.numpy() * (1 - rate))


total = torch.compile(lambda p: discount(torch.relu(p), 0.2).sum())
prices = torch.rand(1000)
for step in range(20):
    t = total(prices)
print(t)
