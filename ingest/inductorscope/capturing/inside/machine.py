"""Records facts about torch and the machine."""

import os
import platform
from importlib import metadata
from pathlib import Path

import torch

from inductorscope.formats.capture_facts import CaptureFacts


def describe_machine(facts: CaptureFacts, device: str) -> None:
    """Fills in the version of torch and the hardware."""
    facts.torch_version = str(torch.__version__)
    facts.torch_git = str(torch.version.git_version)
    facts.python_version = platform.python_version()
    facts.triton_version = _triton()
    facts.cpu_name = cpu_name()
    facts.cores = len(os.sched_getaffinity(0))
    facts.threads = torch.get_num_threads()
    facts.device = device.partition(":")[0]
    if torch.cuda.is_available():
        index = int(device.partition(":")[2] or 0) if device != "cpu" else 0
        facts.gpu_name = torch.cuda.get_device_name(index)
        facts.driver_version = _driver()
    facts.device_name = facts.cpu_name if device == "cpu" else facts.gpu_name


def _triton() -> str | None:
    try:
        return metadata.version("triton")
    except metadata.PackageNotFoundError:
        return None


def _driver() -> str | None:
    """Returns the version of the GPU's kernel module, from Linux."""
    try:
        return Path("/sys/module/nvidia/version").read_text(encoding="utf-8").strip()
    except OSError:
        return None


def cpu_name() -> str | None:
    """Returns the processor's name from Linux."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or None
    for line in text.splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or None
