import torch
from torch import nn

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
layer = nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True)
model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda()
net = torch.compile(model)
opt = torch.optim.AdamW(model.parameters(), fused=True)
x = torch.randn(32, 1024, 1024, device="cuda")
for step in range(40):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = net(x).pow(2).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print(loss)
