"""A process that runs one text, and the judge's handle on it.

A keeper enters the namespaces and forks the processes that run the text, one after the other, all
before torch has threads or CUDA. The original is a run's own kernel and is not confined. What it
compiled is kept for later judgements; candidates start with it and compile only what they changed.
"""

import json
import os
import select
import shutil
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Never

from inductorscope.capturing import process_group
from inductorscope.capturing.judging import arena, called
from inductorscope.capturing.judging.order import WHOLE, Order
from inductorscope.capturing.playground import confine, kernel_calls
from inductorscope.capturing.playground.confine import Room
from inductorscope.capturing.playground.order import CACHE
from inductorscope.processes.dying import how_it_ended

LONGEST_ANSWER = 256 * 1024
START_S, ANSWER_S, END_S = 150.0, 60.0, 0.1
"""Seconds for compiling, for an answer, and for ending."""


class Ended(Exception):
    """The process failed or ended; the message says how."""


class Side:
    """The original's or the candidate's process."""

    def __init__(self, order: Order, room: Room, kept: Path, *, original: bool) -> None:
        """Forks the keeper. `kept`: folder of what originals compiled."""
        self.order, self.original, self.text = order, original, order.original
        self.kept = kept
        self.nbytes, self.descriptor = arena.most_bytes(order), os.memfd_create("judge")
        os.ftruncate(self.descriptor, self.nbytes)
        asked, self.questions = os.pipe()
        self.answers, answering = os.pipe()
        self.process, self._kept, self._unread = 0, {0}, b""
        self.keeper = os.fork()
        if self.keeper == 0:
            self._keep(room, kept, asked, answering)
        os.close(asked)
        os.close(answering)

    def start(self) -> None:
        """Starts a process in place of the last; it waits for the text. The memory is other
        memory, too. Raises Ended."""
        if self.process:
            process_group.kill(self.keeper, without=self._kept)
            with suppress(Ended):
                self._answer(ANSWER_S)
            os.ftruncate(self.descriptor, 0)
            os.ftruncate(self.descriptor, self.nbytes)
        os.write(self.questions, b"\n")
        told = self._answer(START_S)
        self.process, self._kept = int(told["process"]), {self.keeper, int(told["first"])}

    def send(self) -> None:
        """Sends the text to the process."""
        os.write(self.questions, json.dumps(self.text).encode() + b"\n")

    def wait(self) -> None:
        """Waits until the process has loaded the text. Raises Ended."""
        self._answer(START_S)
        if self.original:
            (self.kept / WHOLE).touch()

    def ask(self, do: str, **details: object) -> dict[str, Any]:
        """Lets the process go on, and returns its answer. Raises Ended."""
        os.kill(self.process, signal.SIGCONT)
        os.write(self.questions, json.dumps({"do": do, **details}).encode() + b"\n")
        return self._answer(ANSWER_S)

    def run(self, times: int) -> float:
        """Runs the prepared calls; returns seconds by the judge's clock. The process is stopped as
        soon as it says that it is done."""
        os.write(self.questions, json.dumps({"do": "run", "times": times}).encode() + b"\n")
        began = time.perf_counter()
        os.kill(self.process, signal.SIGCONT)
        self._answer(ANSWER_S)
        took = time.perf_counter() - began
        self.stop()
        return took

    def stop(self) -> None:
        os.kill(self.process, signal.SIGSTOP)

    def others(self) -> int:
        """Returns how many further processes it has left running."""
        return len(process_group.members(self.keeper).keys() - self._kept - {self.process})

    def end(self) -> None:
        # The first process of a namespace ends only after its keeper has seen the others end.
        process_group.kill(self.keeper, without=self._kept)
        with suppress(Ended):
            self._answer(END_S)
        process_group.kill(self.keeper)
        os.waitpid(self.keeper, 0)

    def _answer(self, seconds: float) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while b"\n" not in self._unread:
            if not select.select([self.answers], [], [], max(0.0, until - time.monotonic()))[0]:
                raise Ended(f"It gave no answer within {seconds:.0f} s.")
            data = os.read(self.answers, LONGEST_ANSWER)
            self._unread += data
            if not data or len(self._unread) > LONGEST_ANSWER:
                raise Ended("Its process ended.")
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Ended("Its process wrote answers of its own.")
        if "ended" in found:
            raise Ended(f"Its process {how_it_ended(int(found['ended']))} before it was done.")
        if "error" in found:
            raise Ended(str(found["error"]))
        return found

    # --- in the forks ---

    def _run(
        self, room: Room, base: Path, memory: arena.Arena, asked: int, answering: int
    ) -> Never:
        """Runs the text, a candidate's without any rights."""
        try:
            kernel_calls.die_with_parent()
            if not self.original:
                on_gpu = self.order.device != "cpu"
                confine.settle(base, separated=room.separated, local_sockets=on_gpu)
            os.environ.pop("PYTORCH_NVML_BASED_CUDA_CHECK", None)  # NVML is out of reach
            os.environ["TRITON_CACHE_DIR"] = str(base / CACHE / "triton")
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(base / CACHE)
            sys.argv = ["kernel.py"]
            with os.fdopen(asked, "rb") as questions:
                called.serve(self.order, memory, questions, answering)
            os._exit(0)
        finally:
            os._exit(3)

    def _keep(self, room: Room, kept: Path, asked: int, answering: int) -> Never:
        try:
            if self.original:
                room = replace(room, separated=False)
            memory = arena.Arena(self.descriptor, self.nbytes)
            for descriptor in {*range(3, confine.FILES)} - {asked, answering}:
                with suppress(OSError):
                    os.close(descriptor)
            base = confine.enter(room, self.order.device)
            if self.original:
                base = kept
            else:
                for folder in ("home", CACHE):
                    shutil.rmtree(base / folder, ignore_errors=True)
                (base / "home").mkdir()
                if (kept / WHOLE).exists():
                    shutil.copytree(kept / CACHE, base / CACHE)
                else:
                    (base / CACHE).mkdir()
            if (first := os.fork()) == 0:  # if this ended, no further one could start
                kernel_calls.die_with_parent()
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                while True:
                    signal.pause()
            while os.read(asked, 1):
                if (process := os.fork()) == 0:
                    self._run(room, base, memory, asked, answering)
                _say(answering, process=process, first=first)
                _, status = os.waitpid(process, 0)
                _say(answering, ended=os.waitstatus_to_exitcode(status))
        finally:
            os._exit(1)


def _say(answering: int, **found: int) -> None:
    os.write(answering, json.dumps(found).encode() + b"\n")
