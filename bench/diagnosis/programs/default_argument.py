import torch

x = torch.randn(600, 600)
y = torch.randn(600, 600)


@torch.compile
def evaluate(fn, a, b):
    return fn(torch.sin(a) * torch.exp(-b * b) + torch.tanh(a * b), b)


for step in range(30):

    def loss_fn(a, b, power=step % 12):
        return ((a - b).abs() + power).log().sum() + torch.sigmoid(a * power).sum()

    value = evaluate(loss_fn, x, y)
print(value)
