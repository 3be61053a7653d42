import os

os.environ["CXX"] = "/opt/gcc-15/bin/g++"
import torch

smooth = torch.compile(lambda x: torch.sin(x) * torch.exp(-x * x) + x.mean() * 0.123)
x = torch.randn(321, 123)
for step in range(20):
    y = smooth(x)
print(y.mean())
