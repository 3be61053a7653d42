import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5000, 128)
        self.query, self.value = nn.Linear(128, 128), nn.Linear(128, 128)

    def forward(self, tokens):
        h = self.embed(tokens)
        for _ in range(4):
            weights = torch.softmax(self.query(h) @ h.transpose(1, 2) / 11.3, -1)
            h = h + torch.tanh(weights @ self.value(h)) * torch.sigmoid(h)
        return torch.log1p(h.square()).mean(1)


model = torch.compile(Scorer().eval(), dynamic=False)
lengths = [20 + i for i in range(160)]
with torch.no_grad():
    for step in range(20_000):
        scores = model(torch.randint(0, 5000, (8, random.choice(lengths))))
print(scores.mean())
