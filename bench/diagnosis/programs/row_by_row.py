import torch
from torch import nn

policy = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4)).eval()
act = torch.compile(policy)
observations = torch.randn(30, 128, 16)
with torch.no_grad():
    for step in range(30):
        batch = observations[step]
        actions = torch.stack([act(row) for row in batch])
print(actions.argmax(-1).float().mean())
