# mypy: ignore-errors
"""A program for the tests that captures parts of itself."""

import inductorscope

if __name__ == "__main__":
    import sys

    assert not {"torch", "sqlalchemy", "typer"} & {*sys.modules}
    import threading

    import torch
    from torch._inductor import config

    @torch.compile
    def earlier(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    @torch.compile
    def scale(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * 2, -1).sum()

    @inductorscope.capture(data=sys.argv[1], seconds=0.1)
    def train() -> None:
        for step in range(30):
            scale(torch.rand(32 if step < 3 else 64, 128))

    def serve() -> None:
        with inductorscope.capture("served", data=sys.argv[1], seconds=0.1):
            for _ in range(30):
                earlier(torch.rand(8))
            raise ValueError("the end")

    earlier(torch.rand(8))
    train()
    threading.excepthook = lambda args: print("raised", args.exc_value)
    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    assert not config.trace.enabled
    handler = inductorscope.trace_handler("profiled", data=sys.argv[1])
    with torch.profiler.profile(on_trace_ready=handler):
        earlier(torch.rand(8))
    first = inductorscope.capture("first").__enter__()
    try:
        inductorscope.capture("second").start()
    except RuntimeError as error:
        print(error)
    first._running.close()
