import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Disk(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        time.sleep(0.003)  # a read from disk
        return torch.full((1024,), float(index))


loader = DataLoader(Disk(), batch_size=16, num_workers=0, pin_memory=True)
model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(8))).cuda()
net = torch.compile(model)
opt = torch.optim.SGD(model.parameters(), lr=1e-6, fused=True)
for step, batch in enumerate(loader):
    x = batch.cuda(non_blocking=True)
    opt.zero_grad()
    (net(x) - x).pow(2).mean().backward()
    opt.step()
print(next(model.parameters()).sum())
