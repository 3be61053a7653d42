import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1))
decoder = nn.Sequential(
    nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1)
)
model = nn.Sequential(encoder, nn.ReLU(), decoder)
net = torch.compile(model)
opt = torch.optim.Adam(model.parameters(), fused=True)
digits = torch.rand(64, 1, 64, 64)
for step in range(30):
    loss = (net(digits) - digits).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(float(loss))
