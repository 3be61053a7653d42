"""Trains a GPT-2 of transformers with AdamW on random tokens, and prints its own step times.

`--slow` computes the loss by hand, with an `.item()` that breaks the graph: a change to compare."""

import argparse
import statistics
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--device", default="cpu")
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--width", type=int, default=256)
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--length", type=int, default=128)
parser.add_argument("--mode")
parser.add_argument("--slow", action="store_true")
options = parser.parse_args()

torch.manual_seed(0)
config = GPT2Config(
    n_layer=options.layers, n_embd=options.width, n_head=4, n_positions=options.length,
    vocab_size=4096, use_cache=False,
)  # fmt: skip
model = GPT2LMHeadModel(config).to(options.device).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)


def loss_of(tokens: torch.Tensor) -> torch.Tensor:
    if not options.slow:
        return model(input_ids=tokens, labels=tokens).loss
    logits = model(input_ids=tokens).logits[:, :-1]
    chosen = logits.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    loss = (logits.exp().sum(-1).log() - chosen).mean()
    if loss.item() > 100:
        loss = loss.clamp(max=100)
    return loss


compiled = torch.compile(loss_of, mode=options.mode)
times = []
began = time.perf_counter()
for step in range(1, options.steps + 1):
    tokens = torch.randint(4096, (options.batch, options.length), device=options.device)
    loss = compiled(tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    value = loss.item()
    now = time.perf_counter()
    times.append(1000 * (now - began))
    began = now
    median = statistics.median(times[4:] or times)
    print(f"step {step}: loss {value:.4f}, {times[-1]:.3f} ms, median {median:.3f} ms")
