import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(128, 256, batch_first=True)
        self.head = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 20))

    def forward(self, x):
        return self.head(self.lstm(x)[0])


tagger = Tagger().eval()
tagger.head = torch.compile(tagger.head)
x = torch.randn(16, 64, 128)
with torch.no_grad():
    for step in range(40):
        y = tagger(x)
print(y.mean())
