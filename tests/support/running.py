"""Runs coroutines and commands in tests."""

import asyncio
import io
import subprocess
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, TypeVar

import pytest
from inductorscope.cli.app import main

Result = TypeVar("Result")


def run_alone(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs it in a thread of its own: tests in a browser leave a running loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def run(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a command in this process."""
    code: object = 0
    said, complained = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(complained):
        patch.setattr(sys, "argv", ["inductorscope", *arguments])
        patch.setattr(sys, "stdin", io.StringIO(typed))
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return subprocess.CompletedProcess(arguments, code, said.getvalue(), complained.getvalue())
