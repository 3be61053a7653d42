# mypy: ignore-errors
"""A program for the tests that captures parts of itself: `api_script.py DATA SERVER`."""

import inductorscope

if __name__ == "__main__":
    import sys

    assert not {"torch", "sqlalchemy", "typer"} & {*sys.modules}
    import multiprocessing
    import os
    import threading

    import torch
    import torch._inductor.compile_fx
    from torch import distributed
    from torch._inductor import config

    data, server = sys.argv[1:]

    @torch.compile
    def scale(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * 2, -1).sum()

    @inductorscope.capture(data=data, seconds=0.1)
    def train() -> None:
        for step in range(40):
            distributed.all_reduce(scale(torch.rand(32 if step < 3 else 64, 128)))

    def be_rank(rank: int) -> None:
        os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2"}
        distributed.init_process_group("gloo", f"file://{data}/rendezvous", rank=rank, world_size=2)
        train()
        distributed.destroy_process_group()

    ranks = [multiprocessing.get_context("fork").Process(target=be_rank, args=[n]) for n in (0, 1)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()

    def serve() -> None:
        captured = inductorscope.capture("served", server=server, seconds=0.1)
        for step in range(30):
            if step == 5:
                captured.start()
            scale(torch.rand(8, 128))
        captured.stop(ValueError("the end"))
        print(captured.run)

    scale(torch.rand(8, 128))
    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    assert not config.trace.enabled
    first = inductorscope.capture("first").__enter__()
    try:
        inductorscope.capture("second").start()
    except RuntimeError as error:
        print(error)
    first._running.close()
