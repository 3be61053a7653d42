# mypy: ignore-errors
"""Trains a small ResNet of transformers from a data loader with worker processes."""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import ResNetConfig, ResNetForImageClassification


class Pictures(Dataset):
    """Random pictures and labels."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.rand(3, self.size, self.size), index % 10


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--device", default="cpu")
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--size", type=int, default=64)
parser.add_argument("--workers", type=int, default=1)
options = parser.parse_args()

if __name__ == "__main__":
    torch.manual_seed(0)
    pictures = Pictures(options.batch * options.steps, options.size)
    loader = DataLoader(pictures, options.batch, num_workers=options.workers)
    config = ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32, 64], depths=[2, 2, 2], layer_type="basic",
        num_labels=10,
    )  # fmt: skip
    model = ResNetForImageClassification(config).to(options.device).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    compiled = torch.compile(model)
    times = []
    began = time.perf_counter()
    for step, (batch, labels) in enumerate(loader, 1):
        batch, labels = batch.to(options.device), labels.to(options.device)
        loss = F.cross_entropy(compiled(batch).logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()
        now = time.perf_counter()
        times.append(1000 * (now - began))
        began = now
        median = statistics.median(times[4:] or times)
        print(f"step {step}: loss {value:.4f}, {times[-1]:.3f} ms, median {median:.3f} ms")
