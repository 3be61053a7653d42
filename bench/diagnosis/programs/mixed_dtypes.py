import torch


@torch.compile
def features(x):
    x = x.float() / 255
    centred = x - x.mean(1, keepdim=True)
    spread = centred.pow(2).mean(1, keepdim=True).sqrt()
    return torch.cat([centred / (spread + 1e-5), torch.sin(x), torch.cos(x)], 1)


torch.manual_seed(0)
raw = torch.randint(0, 255, (256, 300))
batches = [
    raw.to(t) for t in (torch.uint8, torch.int16, torch.float64, torch.float16, torch.float32)
]
for step in range(60):
    out = features(batches[step % 5])
print(out.shape)
