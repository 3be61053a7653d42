import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(1024, 1024), nn.GELU()) for _ in range(6))).cuda()
net = torch.compile(model)
opt = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
x = torch.randn(1024, 1024, device="cuda")
torch.set_float32_matmul_precision("high")
for step in range(200):
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    if True:
        metrics = {"loss": loss.item()}
        for name, p in model.named_parameters():
            metrics[name] = p.grad.norm().item() / (p.norm().item() + 1e-9)
            metrics[name + ".max"] = p.grad.abs().max().item()
    opt.step()
print(metrics["loss"])
