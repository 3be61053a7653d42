import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.RMSNorm(width)
        self.gate, self.up = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


model = nn.Sequential(*(Block(512) for _ in range(20))).to("cuda", torch.bfloat16).eval()
head = nn.Linear(512, 1000).to("cuda", torch.bfloat16)
table = torch.randn(1000, 512, device="cuda", dtype=torch.bfloat16)


@torch.compile
def next_token(token):
    return head(model(table[token])).argmax(-1)


token = torch.zeros(1, dtype=torch.long, device="cuda")
with torch.no_grad():
    for step in range(100_000):
        token = next_token(token).clone()
        if step % 32 == 31:
            torch.cuda.synchronize()
print(token)
