"""Trains with DistributedDataParallel; start it with torchrun. Rank 1 recompiles in step 6."""

import argparse
import os

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

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
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 8))
model = torch.compile(DistributedDataParallel(model.to(device)))
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
