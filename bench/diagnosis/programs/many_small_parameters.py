import torch
from torch import nn

torch.manual_seed(0)
scales = nn.ParameterList(nn.Parameter(torch.rand(32)) for _ in range(400))


@torch.compile
def forward(x, stacked):
    return (torch.tanh(x * stacked).sum(0) - 1).pow(2).mean()


opt = torch.optim.AdamW(scales, lr=1e-3, foreach=False)
x = torch.randn(400, 32)
for step in range(40):
    opt.zero_grad()
    loss = forward(x, torch.stack(list(scales)))
    loss.backward()
    opt.step()
print(float(loss))
