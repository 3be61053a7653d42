import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(20_480, 512), torch.randint(0, 10, (20_480,)))
model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512), nn.Linear(512, 10))
net = torch.compile(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
loader = DataLoader(data, batch_size=512, num_workers=1, prefetch_factor=4)
for step, (x, y) in enumerate(loader):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(float(loss))
