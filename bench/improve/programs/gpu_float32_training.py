import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True)
model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda()
net = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
x, target = (torch.randn(16, 256, 1024, device="cuda") for _ in range(2))
for step in range(20_000):
    loss = nn.functional.mse_loss(net(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(loss.item())
