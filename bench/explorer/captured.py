"""Captures of built-in models for the benchmarks, made once and kept in `bench/work`.

python -m bench.explorer.captured mobilebert-qa
"""

import argparse
import shutil
from pathlib import Path

from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.settings import Settings

WORK = Path(__file__).resolve().parents[1] / "work"


def captured(model: str, train: bool = False, device: str = "cpu") -> Path:
    """The folder of a model's capture, of inference or of training."""
    name = f"{model}-train" if train else model
    folder = WORK / "captures" / (name if device == "cpu" else f"{name}-{device}")
    if not folder.exists():
        making = folder.with_name(f"{folder.name}.making")
        shutil.rmtree(making, ignore_errors=True)
        spec = CaptureSpec(model=model, train=train, device=device, seconds=4.0)
        run_capture(spec, making, Settings(WORK, ""), trusted=True)
        making.rename(folder)
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Capture a built-in model, once.")
    parser.add_argument("model")
    print(captured(parser.parse_args().model))
