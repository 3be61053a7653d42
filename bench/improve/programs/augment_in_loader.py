import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.rand(3, 64, 64, generator=generator)
        for _ in range(6):  # blur
            image = (image + image.roll(1, 1) + image.roll(1, 2)) / 3
        return image.mean(0).flatten(), index % 10


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4096, 256), nn.ReLU(), nn.Linear(256, 10))
net = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step, (x, y) in enumerate(DataLoader(Noisy(), batch_size=16)):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss)
