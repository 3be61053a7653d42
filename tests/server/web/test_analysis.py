"""Texts are analysed in processes with limits, and what exceeds one is passed over."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from inductorscope.answers.missing import NotHere
from inductorscope.settings import Settings
from inductorscope.store.who import READ, VIEWER, Who
from inductorscope_server.analysis import analysis as pool
from inductorscope_server.analysis import process as processes
from inductorscope_server.analysis.analysis import Analysis
from inductorscope_server.web.errors import Refusal

from tests.support import slow_answers
from tests.support.running import run_alone


def person(number: int) -> Who:
    return Who(f"person {number}", frozenset({READ}), person=number)


ROOT = Path(__file__).resolve().parents[3]
Result = TypeVar("Result")


@pytest.fixture
def analysis(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Analysis]:
    """With a limit of one second, or as a test says."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for the answers of tests
    seconds = getattr(request, "param", 1)
    made = Analysis(Settings(data=tmp_path, database_url="", analysis_seconds=seconds))
    yield made
    made.close()


def run(work: Callable[[], Awaitable[Result]]) -> Result:
    async def main() -> Result:
        return await work()

    return run_alone(main())


@pytest.mark.parametrize(
    ("analysis", "text", "limit"),
    [
        (1, "slow", "takes longer than 1 seconds (INDUCTORSCOPE_ANALYSIS_SECONDS)"),
        (30, "large", "needs more than 1 GiB of memory"),
        (30, "crash", "ends the process that does it"),
    ],
    indirect=["analysis"],
)
def test_a_text_over_a_limit_is_passed_over(
    analysis: Analysis, text: str, limit: str, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = ["a", f"Analysing these texts {limit}, so they are left out. You can download them."]

    async def twice() -> None:
        assert await analysis(slow_answers.texts, "r", "a", text, "b") == [*wanted, "b"]
        assert await analysis(slow_answers.texts, "r", text, "b") == [wanted[1], "b"]
        assert caplog.text.count(limit) == 1  # it was not tried again
        # The limit is of this answer and this run alone.
        assert await analysis(slow_answers.texts, "other", "a") == ["a"]

    run(twice)


def test_an_answer_that_names_no_text_is_refused(
    analysis: Analysis, caplog: pytest.LogCaptureFixture
) -> None:
    async def twice() -> None:
        for _ in range(2):
            with pytest.raises(Refusal, match="takes longer than 1 seconds") as refused:
                await analysis(slow_answers.unnamed, "r")
            assert refused.value.status == 503
            assert refused.value.body.do
            assert caplog.text.count("takes longer than 1 seconds") == 1

    run(twice)


@pytest.mark.parametrize("analysis", [30], indirect=True)
def test_one_run_does_not_keep_others_waiting(analysis: Analysis) -> None:
    async def meanwhile() -> None:
        await analysis(slow_answers.process, "r")  # has started
        slow = [
            asyncio.create_task(analysis(slow_answers.texts, "r", "slow", str(number)))
            for number in range(10)
        ]
        await asyncio.sleep(0.1)
        for _ in range(3):
            assert await analysis(slow_answers.texts, "other", "a") == ["a"]
        assert not any(task.done() for task in slow)
        for task in slow:
            task.cancel()

    run(meanwhile)


def test_who_waits_too_long_is_told(analysis: Analysis) -> None:
    async def meanwhile() -> None:
        for name in ("r", "other"):
            await analysis(slow_answers.process, name)
        slow = [
            asyncio.create_task(analysis(slow_answers.long_text, name)) for name in ("r", "other")
        ]
        await asyncio.sleep(0.1)
        with pytest.raises(Refusal, match="Other texts are being analysed") as refused:
            await analysis(slow_answers.process, "third")
        assert refused.value.headers["Retry-After"] == "1"
        for refusal in await asyncio.gather(*slow, return_exceptions=True):
            assert "longer than 5 seconds" in str(refusal)

    run(meanwhile)


@pytest.mark.parametrize("analysis", [30], indirect=True)
def test_one_person_does_not_keep_others_waiting(analysis: Analysis) -> None:
    async def meanwhile() -> None:
        await analysis(slow_answers.process, "r")  # has started
        VIEWER.set(person(1))
        many = [
            asyncio.create_task(analysis(slow_answers.waits, f"mallory's {number}", 0.3))
            for number in range(10)
        ]
        await asyncio.sleep(0.1)
        VIEWER.set(person(2))
        for number in range(2):
            await analysis(slow_answers.process, f"ada's {number}")
        assert sum(task.done() for task in many) <= 4
        await asyncio.gather(*many)

    run(meanwhile)


def test_a_limit_that_one_person_exceeded_passes_over_nothing_of_another(
    analysis: Analysis,
) -> None:
    async def both() -> None:
        VIEWER.set(person(1))
        with pytest.raises(Refusal, match="takes longer than 1 seconds"):
            await analysis(slow_answers.slow_for, "a name of runs", 1)
        VIEWER.set(person(2))
        assert await analysis(slow_answers.slow_for, "a name of runs", 1) == 2

    run(both)


@pytest.mark.parametrize("analysis", [30], indirect=True)
def test_a_process_that_maps_too_much_ends(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MOST_GROWTH", 64 * 2**20)

    async def ask() -> None:
        first = await analysis(slow_answers.process, "r")
        assert await analysis(slow_answers.maps, "r", 32 * 2**20) == first
        assert await analysis(slow_answers.maps, "r", 64 * 2**20) == first
        assert await analysis(slow_answers.process, "r") != first

    run(ask)


@pytest.mark.parametrize("analysis", [30], indirect=True)
def test_a_request_that_is_cancelled_gives_its_process_back(analysis: Analysis) -> None:
    async def ask() -> None:
        for _ in range(3):
            cancelled = asyncio.create_task(analysis(slow_answers.process, "r"))
            await asyncio.sleep(0)
            cancelled.cancel()
        assert await analysis(slow_answers.process, "r")

    run(ask)


def test_exceptions_of_the_answer_arrive(analysis: Analysis) -> None:
    async def ask() -> None:
        with pytest.raises(NotHere, match="There is nothing here") as raised:
            await analysis(slow_answers.missing, "r")
        assert raised.value.do == "Look elsewhere."
        with pytest.raises(RuntimeError, match="cannot be sent"):
            await analysis(slow_answers.not_to_be_sent, "r")

    run(ask)


def test_answers_read_either_database(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    analysis = Analysis(settings)
    assert run(lambda: analysis(slow_answers.database, "r")) == 7
    analysis.close()


def test_an_answer_too_large_is_refused(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MOST_ANSWER", 2**20)

    async def ask() -> None:
        assert len(await analysis(slow_answers.sizes, "r", 2**19)) == 2**19
        with pytest.raises(Refusal, match="takes more than 1 MiB"):
            await analysis(slow_answers.sizes, "r", 2**20)

    run(ask)


def test_processes_without_work_end(analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "IDLE_SECONDS", 0.5)

    async def ask() -> None:
        first = await analysis(slow_answers.process, "r")
        assert await analysis(slow_answers.process, "r") == first
        await asyncio.sleep(1.5)
        assert not Path(f"/proc/{first}").exists()
        assert await analysis(slow_answers.process, "r") != first
        os.kill(await analysis(slow_answers.process, "r"), 9)  # the system wants its memory
        await asyncio.sleep(0.2)
        assert await analysis(slow_answers.process, "r")

    run(ask)
