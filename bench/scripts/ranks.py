# mypy: ignore-errors
"""Trains with DistributedDataParallel; start it with torchrun. Rank 1 recompiles in step 6."""

import argparse
import os

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = torch.nn.Linear(256, 512)
        self.narrow = torch.nn.Linear(512, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.narrow(torch.nn.functional.gelu(self.wide(x)))


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=80)
parser.add_argument("--device", default="cpu")
options = parser.parse_args()

torch.distributed.init_process_group("nccl" if options.device == "cuda" else "gloo")
rank = torch.distributed.get_rank()
device = f"cuda:{os.environ['LOCAL_RANK']}" if options.device == "cuda" else "cpu"
if options.device == "cuda":
    torch.cuda.set_device(device)
torch.manual_seed(0)
model = torch.compile(DistributedDataParallel(Net().to(device)))
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1, options.steps + 1):
    rows = 48 if rank == 1 and step >= 6 else 32
    loss = model(torch.rand(rows, 256, device=device)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if rank == 0:
        print(f"step {step}: loss {loss.item():.4f}")
torch.distributed.destroy_process_group()
