import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(128, 128), nn.ReLU()) for _ in range(40))).cuda()
net = torch.compile(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False)
x, target = (torch.randn(256, 128, device="cuda") for _ in range(2))
for step in range(50_000):
    loss = nn.functional.mse_loss(net(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(loss.item())
