import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Remote(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, index):
        time.sleep(0.004)  # a read over the network
        return torch.full((64,), index / 480), index % 10


loader = DataLoader(Remote(), batch_size=16, num_workers=0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
net = torch.compile(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step, (x, y) in enumerate(loader):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(float(loss))
