"""Decides on a candidate: has both processes compute, and compares and times them.

It runs in a process of its own for each judgement, in which no judged code ever runs.
"""

import os
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from inductorscope.analyze.judging.verdict import ShapeResult, Verdict, concluded
from inductorscope.analyze.measure.judge import LOOKS
from inductorscope.capturing.judging import arena, reference
from inductorscope.capturing.judging.order import Order, Shape
from inductorscope.capturing.judging.side import Ended, Side
from inductorscope.capturing.measure.machine import DISTURBING_SHARE, Others, others_sentence
from inductorscope.capturing.playground import kernel_calls
from inductorscope.capturing.playground.confine import Room
from inductorscope.formats.sizes import MIB

STARTS = LOOKS[0]
"""How often both are timed anew: in new processes, or on a GPU in new memory."""
ROUNDS = {"cpu": 4, "cuda": 1}
"""Batches of each in turns after a start, of which the shortest counts: other work on the machine
only adds."""
BATCH_S = {"cpu": 0.0015, "cuda": 0.015}
"""How long a batch takes, if its operands have room for as many calls. Longer ones are more often
interrupted."""
CACHED = 3.0
"""A kernel may move its bytes so many times as fast as a copy: its operands may be closer."""
LARGE = 32 * MIB
"""Bytes of operands that a processor takes long to write and to compare, so that less is tried."""
OFTEN, OFTEN_S = 2000, 0.1
"""How often a candidate is called on a GPU before it is timed, and for how many seconds at most."""
ENOUGH = 3
"""Differences after which no more are looked for."""


def decide_in(texts: Connection, room: Room, kept: Path, order: Order) -> None:
    """Starts both sides, waits for the candidate's text, and sends the verdict."""
    kernel_calls.die_with_parent()
    sides = [Side(order, room, kept, original=original) for original in (True, False)]
    try:
        judging = Judging(order, *sides)
        try:
            judging.prepare()
        except Ended as ended:
            judging.error = str(ended)
        texts.send(judging.verdict(texts.recv()))
    except Exception as error:  # noqa: BLE001  # eager may raise anything
        texts.send(Verdict(error=f"The judge failed: {type(error).__name__}: {error}"[:8000]))
    finally:
        for side in sides:
            side.end()


class Judging:
    """One judgement."""

    def __init__(self, order: Order, original: Side, candidate: Side) -> None:
        self.order, self.original, self.candidate = order, original, candidate
        self.error = ""
        self.memories = [
            arena.Arena(side.descriptor, side.nbytes) for side in (original, candidate)
        ]
        self.reference, self.on_gpu = reference.Reference(order), order.device != "cpu"
        self.wrong: list[str] = []
        self.dishonest: dict[str, None] = {}
        self.shapes: list[ShapeResult] = []
        self.past: list[arena.Tensors] = []
        self.large = not self.on_gpu and arena.region_bytes(order.shapes[0]) > LARGE
        self.tested = 0
        self.replays = 1
        """How often a batch is replayed on a GPU, where its operands would take too much room."""
        self.times: tuple[list[float], list[float]] = ([], [])
        self.disturbed = ""

    def prepare(self) -> None:
        """Does what needs no candidate. Raises Ended."""
        if not self.on_gpu:
            torch.set_num_threads(1)  # the judged processes have the machine
        elif not torch.cuda.is_available():
            raise Ended(f"The kernel needs a {self.order.device} device: there is none here.")
        for side in (self.original, self.candidate):
            side.start()
        self.original.send()
        if self.on_gpu:
            for memory in self.memories:
                memory.pin()
            shape = self.order.shapes[0]
            for kind in reference.VALUES:  # the first comparison takes longest
                same = self._filled(shape, 1, kind)
                self._differ(same, same, same, shape, kind)

    def verdict(self, text: str) -> Verdict:
        began, error, self.candidate.text = time.perf_counter(), "", text
        resources: tuple[dict[str, object], dict[str, object]] = ({}, {})
        try:
            if self.error:
                raise Ended(self.error)
            self.candidate.send()
            for side, name in ((self.original, "original"), (self.candidate, "candidate")):
                try:
                    side.wait()
                except Ended as ended:
                    raise Ended(f"The {name} does not run. {ended}") from None
            for number in range(len(self.order.shapes)):
                self._at(number)
            self._after()
            if not (self.wrong or self.dishonest):
                if self.on_gpu:
                    self._call_often()
                self._time()
            resources = self.original.ask("resources"), self.candidate.ask("resources")
            self._after()
        except Ended as ended:
            error = str(ended)
        return concluded(
            error, self.wrong, [*self.dishonest], self.shapes, self.times,
            tested=self.tested, against_eager=self.reference.eager is not None,
            nbytes=self.order.nbytes, resources=resources, seconds=time.perf_counter() - began,
            disturbed=self.disturbed,
        )  # fmt: skip

    # --- correct ---

    def _at(self, number: int) -> None:
        """Compares results at one shape, until enough are wrong."""
        shape, worst, said = self.order.shapes[number], 0.0, ""
        kinds: Sequence[str] = reference.VALUES
        if number:  # a further shape gets one of the other kinds
            kinds = (*kinds[:2], kinds[2 + number % (len(kinds) - 2)])
        elif self.large:
            kinds = kinds[:3]
        # On a GPU, Inductor copies operands that are not aligned.
        for shift in (0,) if self.on_gpu else (0, 1):
            for side in (self.original, self.candidate):
                side.ask("shape", shape=number, calls=1, shift=shift)
            for kind in kinds[:1] if shift else kinds:
                why, share = self._compare(shape, kind, shift)
                worst = max(worst, share)
                self.tested += 1
                said = said or why
                if why and len(self.wrong) < ENOUGH:
                    at = f" at {_sizes(shape)}" if number else ""
                    self.wrong.append(f"With {'unaligned' if shift else kind} values{at}: {why}")
        self.shapes.append(ShapeResult(shape.sizes, not said, said, worst))

    def _compare(self, shape: Shape, kind: str, shift: int) -> tuple[str, float]:
        """Has both compute twice from the same fresh operands. Returns what is wrong, and the
        largest error as a share of what is allowed."""
        before = self._filled(shape, 1, kind, shift)
        (ours, theirs), (again, theirs_again) = (self._both(before, shape) for _ in range(2))
        why, worst = self._differ(before, ours, theirs, shape, kind, shift)
        steady = torch.equal(ours, again) and "atomic_add" not in self.order.original
        if steady and not torch.equal(theirs, theirs_again):
            why = why or "the same operands gave other bits the second time."
        if kind == "normal" and shape is self.order.shapes[0]:
            self.past.append(arena.operands(ours, shape, shift)[0])
        return why, worst

    def _differ(
        self, before: torch.Tensor, ours: torch.Tensor, theirs: torch.Tensor, shape: Shape,
        kind: str, shift: int = 0,
    ) -> tuple[str, float]:  # fmt: skip
        """Compares what one call of each made of the same memory."""
        plain, exact = self.reference.expected(before, shape, shift)
        original, made = (arena.operands(memory, shape, shift)[0] for memory in (ours, theirs))
        why, worst = reference.untouched(before, theirs, shape, shift), 0.0
        for name in [operand.name for operand in shape.operands if operand.written]:
            found, share = reference.difference(
                made[name], original[name], plain.get(name), exact.get(name), kind == "special"
            )
            worst = max(worst, share)
            why = why or (f"{name}: {found}." if found else "")
            if found and any(torch.equal(made[name], past[name]) for past in self.past):
                self._refuse(f"For {name} it gave the results of earlier operands.")
        return why, worst

    def _both(self, before: torch.Tensor, shape: Shape) -> list[torch.Tensor]:
        """Returns what is in the memory of each side after a call."""
        for side, memory in zip((self.original, self.candidate), self.memories, strict=True):
            self._stop(side)
            memory.regions(shape, 1).copy_(before)
            self._run(side, record=False)
        return [self._seen(memory, shape, 1).clone() for memory in self.memories]

    def _filled(self, shape: Shape, calls: int, kind: str, shift: int = 0) -> torch.Tensor:
        """Returns fresh operands; like all comparisons, they are made on the kernel's device."""
        regions = self.memories[0].regions(shape, calls)
        made = torch.empty_like(regions, device=self.order.device)
        self.reference.fill(made, shape, kind, shift)
        return made

    def _seen(self, memory: arena.Arena, shape: Shape, calls: int) -> torch.Tensor:
        return memory.regions(shape, calls).to(self.order.device)

    def _stop(self, side: Side) -> None:
        """Stops a side, so that it does not see operands before it is timed."""
        if not self.on_gpu:
            side.ask("prepare", record=False)
        side.stop()

    def _run(self, side: Side, *, record: bool) -> float:
        """Runs what is in a side's memory; returns the seconds. The side is stopped then."""
        if self.on_gpu:
            side.ask("prepare", record=record)
        took = side.run(self.replays if record else 1)
        if self.on_gpu:
            side.ask("collect")
            side.stop()
        return took

    def _refuse(self, why: str) -> None:
        self.dishonest[why] = None

    # --- honest and fast ---

    def _call_often(self) -> None:
        """Calls the candidate before its calls are recorded, so that one that works only at first
        is recorded when it no longer does."""
        shape = self.order.shapes[0]
        for side in (self.original, self.candidate):
            side.ask("shape", shape=0, calls=1, shift=0)
        self._both(self._filled(shape, 1, "normal"), shape)
        took = self.candidate.run(10)
        self.candidate.run(min(OFTEN, int(10 * OFTEN_S / took)))

    def _time(self) -> None:
        """Times batches in turns, with fresh operands each, and compares what they wrote."""
        shape, kind = self.order.shapes[0], "cuda" if self.on_gpu else "cpu"
        most, others = arena.calls_of(shape, kind), Others(os.getpid())
        calls, sides = most if self.on_gpu else min(most, 8), [self.original, self.candidate]
        for number in range(-1, STARTS):  # the first finds how many calls a batch has
            again = number >= 0 and not self.on_gpu
            for side in sides if again else ():
                side.start()
                side.send()
            for side in sides:
                if again:
                    side.wait()
                side.ask("shape", shape=0, calls=calls, shift=0)
            sides.reverse()
            count = 2 if self.large else ROUNDS[kind]
            rounds = [self._round(shape, calls, sides[:: 1 - at % 2 * 2]) for at in range(count)]
            self._round(shape, calls, sides, "special")
            without = min(self.original.run(0) for _ in range(5))
            if self.dishonest:
                return
            took = [min(side) for side in zip(*rounds, strict=True)]
            took = [max(seconds - without, seconds / 10) for seconds in took]
            if number >= 0:
                for times, seconds in zip(self.times, took, strict=True):
                    times.append(1000 * seconds / calls / self.replays)
            elif self.on_gpu:
                self.replays = max(1, round(BATCH_S[kind] / took[0]))
            else:
                calls = max(1, min(most, round(BATCH_S[kind] / took[0] * calls)))
        if (share := others.share()) > DISTURBING_SHARE:
            self.disturbed = others_sentence(share, "it was timed")
        self._bound(calls)

    def _round(
        self, shape: Shape, calls: int, sides: list[Side], kind: str = "normal"
    ) -> list[float]:
        """Times a batch of each. Of special values, one call is compared with eager, too: neither
        that nor the call is known to the candidate."""
        for side in sides:
            self._stop(side)
        before = self._filled(shape, calls, kind)
        for memory in self.memories:
            memory.regions(shape, calls).copy_(before)
        took = {side is self.candidate: self._run(side, record=True) for side in sides}
        ours, theirs = (self._seen(memory, shape, calls) for memory in self.memories)
        why = reference.untouched(before, theirs, shape, 0)
        if kind == "special":
            at = self.reference.chance.randrange(calls)
            one = slice(at, at + 1)
            why = why or self._differ(before[one], ours[one], theirs[one], shape, kind)[0]
        else:
            original, made = arena.flat(ours, shape), arena.flat(theirs, shape)
            for name in [operand.name for operand in shape.operands if operand.written]:
                if reference.close(made[name], original[name]):
                    continue
                found, _ = reference.difference(made[name], original[name], None, None, False)
                why = why or (f"{name}: {found}." if found else "")
        if why:
            self._refuse(f"When it is timed, though not when it is checked, {why}")
        return [took[False], took[True]]

    def _bound(self, calls: int) -> None:
        """Refuses a time in which neither a copy nor the original could move the kernel's bytes."""
        device, moved = self.order.device, self.order.nbytes * calls
        source = torch.zeros(max(moved // 2, 1), dtype=torch.uint8, device=device)
        target, times = torch.empty_like(source), [min(self.times[0]) / 1000 * calls]
        for _ in range(5):
            began = time.perf_counter()
            target.copy_(source)
            if self.on_gpu:
                torch.cuda.synchronize()
            times.append(time.perf_counter() - began)
        fastest, peak = min(self.times[1]) / 1000, moved / min(times)
        if (rate := self.order.nbytes / fastest) > CACHED * peak:
            self._refuse(
                f"It would move its bytes at {rate / 1e9:,.0f} GB/s; a copy and the original reach "
                f"{peak / 1e9:,.0f} GB/s here: it cannot have done its work in that time."
            )

    def _after(self) -> None:
        """Looks at what the candidate's process has become."""
        own, found = self.original.ask("marks"), self.candidate.ask("marks")
        if changed := {*map(str, found.get("changed") or ())} - {*own["changed"]}:
            self._refuse(f"It replaced {', '.join(sorted(changed)[:5])}.")
        if int(found.get("threads") or 0) > own["threads"]:
            self._refuse("It left a thread of Python running.")
        if others := self.candidate.others():
            self._refuse(f"It left further processes running: {others}.")


def _sizes(shape: Shape) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sorted(shape.sizes.items()))
