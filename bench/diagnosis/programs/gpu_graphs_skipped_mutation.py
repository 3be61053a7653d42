import torch
from torch import nn

torch.manual_seed(0)
layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(32)).cuda().eval()


@torch.compile(mode="reduce-overhead")
def advance(x, state):
    for layer in layers:
        x = torch.tanh(layer(x) + state)
    state.copy_(0.9 * state + 0.1 * x)
    return x


x = torch.randn(4, 256, device="cuda")
state = torch.zeros(4, 256, device="cuda")
with torch.no_grad():
    for step in range(300):
        y = advance(x, state)
print(y.norm())
