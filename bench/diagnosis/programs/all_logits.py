import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(16000, 128)
        self.inner = nn.Linear(128, 128)
        self.head = nn.Linear(128, 16000)

    def forward(self, tokens):
        h = torch.relu(self.inner(self.emb(tokens))).cumsum(1)
        return self.head(h)[:, -1]


model = torch.compile(Model().eval())
tokens = torch.randint(0, 16000, (4, 256))
with torch.no_grad():
    for step in range(25):
        tokens = torch.cat([tokens[:, 1:], model(tokens).argmax(-1, keepdim=True)], 1)
print(tokens[:, -5:])
