import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
samples = rng.normal(size=(1000, 512))
data = torch.from_numpy(samples)
model = nn.Sequential(nn.Linear(512, 1024), nn.Tanh(), nn.Linear(1024, 512)).double()
net = torch.compile(model)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(20):
    opt.zero_grad()
    loss = (net(data) - data).square().mean()
    loss.backward()
    opt.step()
print(loss)
