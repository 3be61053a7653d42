"""How often a measurement raises a false alarm, and how often it finds a slower program.

    python -m bench.measuring record FILE [--model gpt-small] [--processes 20]
    python -m bench.measuring simulate [FILE…] [--spread 0.01] [--trials 500] [--slower 0.03]
    python -m bench.measuring real FILE…

`record` runs a built-in model in fresh processes and appends a line for each to FILE. `simulate`
draws both sides of each trial from the processes recorded, so the noise is real and the programs
are equal; then it makes B slower. Without a file the noise is simulated too: Student's t with four
degrees of freedom, which has outliers, scaled to `--spread`. `real` judges the recorded processes
themselves: consecutive ones as A B B A …, which is the same program beside itself.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from inductorscope.analyze.measure.judge import LOOKS, Judged, judge
from inductorscope.capturing.measure.processes import Arm, Once, Runner
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.settings import Settings


def record(file: Path, model: str, processes: int, seconds: float) -> None:
    cache = file.with_suffix(".cache")
    cache.mkdir(parents=True, exist_ok=True)
    runner = Runner(cache, Settings(data=Path(tempfile.mkdtemp()), database_url=""), trusted=True)
    for _ in range(processes):
        once = runner.once(Arm("A", CaptureSpec(model=model)), seconds)
        with file.open("ab") as stream:
            stream.write(msgspec.json.encode(once) + b"\n")
        print(f"{once.ms:.4f} ms, others {once.others:.0%}", flush=True)


def recorded(file: Path) -> list[Once]:
    return [msgspec.json.decode(line, type=Once) for line in file.read_bytes().splitlines()]


def looks(a: Sequence[float], b: Sequence[float]) -> Judged:
    """What a measurement would answer that stops at the first answer."""
    for number in LOOKS:
        found = judge(a[:number], b[:number])
        if found.answer != "cannot tell" or len(a) <= number:
            break
    return found


def simulate(files: Sequence[Path], trials: int, slower: float, spread: float, seed: int) -> None:
    chance = np.random.default_rng(seed)
    pools = [np.log([once.ms for once in recorded(file)]) for file in files]
    pools = pools or [np.log(10) + chance.standard_t(4, 10_000) * spread / np.sqrt(2)]
    answers: Counter[str] = Counter()
    processes, covered = 0, 0
    for trial in range(trials):
        pool = pools[trial % len(pools)]
        drawn = chance.choice(pool, 2 * LOOKS[-1]) + chance.normal(
            0, pool.std() / 10, 2 * LOOKS[-1]
        )
        a, b = drawn[: LOOKS[-1]], drawn[LOOKS[-1] :] + np.log1p(slower)
        found = looks(np.exp(a).tolist(), np.exp(b).tolist())
        answers[found.answer] += 1
        processes += found.processes
        covered += found.low <= slower <= found.high
    spreads = ", ".join(f"{pool.std():.2%}" for pool in pools)
    print(
        f"{trials} simulated, B {slower:+.1%}; processes differ by {spreads} (standard deviation)"
    )
    print(f"  {dict(answers)}; {processes / trials:.1f} processes of each side")
    print(f"  the interval holds the truth in {covered / trials:.1%}")


def real(files: Sequence[Path]) -> None:
    for file in files:
        done = [once.ms for once in recorded(file)]
        for look in LOOKS[:1] + LOOKS[-1:]:
            answers: Counter[str] = Counter()
            for start in range(0, len(done) - 2 * look + 1, 2 * look):
                part = done[start : start + 2 * look]
                sides: tuple[list[float], list[float]] = ([], [])
                for place, ms in enumerate(part):
                    sides[(place + 1) // 2 % 2].append(ms)
                answers[looks(*sides).answer] += 1
            print(f"{file.name}: at most {look} processes of each side: {dict(answers)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["record", "simulate", "real"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--spread", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="gpt-small")
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--slower", type=float, default=0.0)
    options = parser.parse_args()
    if options.what == "record":
        record(options.files[0], options.model, options.processes, options.seconds)
    elif options.what == "simulate":
        simulate(options.files, options.trials, options.slower, options.spread, options.seed)
    else:
        real(options.files)


if __name__ == "__main__":
    main()
