import torch
from torch import nn

torch.manual_seed(0)
table = nn.Embedding(300_000, 32)
mlp = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
head = torch.compile(mlp)
opts = [torch.optim.Adam([*table.parameters(), *mlp.parameters()])]
for step in range(20):
    ids = torch.randint(0, 300_000, (256,))
    loss = (head(table(ids)) - 1).pow(2).mean()
    loss.backward()
    for opt in opts:
        opt.step()
        opt.zero_grad()
print(float(loss))
