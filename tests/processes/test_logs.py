"""The log counts failures that repeat."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from inductorscope.processes.logs import FAILURES, MOST_LINES, PERIOD_SECONDS, REQUEST, Counting


class Clock:
    """A time that tests set."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("inductorscope.processes.logs.time", made)
    return made


@pytest.fixture
def written(clock: Clock) -> Iterator[io.StringIO]:
    """What the log holds; tests write to it with `log`."""
    text, handler = io.StringIO(), Counting()
    handler.setStream(text)
    log.addHandler(handler)
    log.propagate = False
    yield text
    log.removeHandler(handler)


log = logging.getLogger("tests.logs")


def fail(number: int) -> None:
    log.warning("failure %d", number)


def fail_with_traceback() -> None:
    try:
        raise ValueError("no")
    except ValueError:
        log.exception("failed")


def test_a_failure_that_repeats_is_counted_and_reported_after_a_while(
    written: io.StringIO, clock: Clock
) -> None:
    for number in range(1000):
        fail(number)
    assert written.getvalue().count("\n") == MOST_LINES
    clock.now += PERIOD_SECONDS
    log.warning("something else")
    lines = written.getvalue().splitlines()[MOST_LINES:]
    assert "995 more like this: failure 999" in lines[0]
    assert "something else" in lines[1]
    fail(1000)
    assert "failure 1000" in written.getvalue()


def test_a_traceback_is_written_once(written: io.StringIO) -> None:
    for _ in range(10):
        fail_with_traceback()
    assert written.getvalue().count("Traceback") == 1


def test_of_a_traceback_in_a_message_the_error_is_kept(written: io.StringIO) -> None:
    log.warning(
        'Polling: Traceback (most recent call last):\n  File "a.py"\nOSError: no\n(see b)\n'
    )
    assert written.getvalue().endswith("Polling: OSError: no\n")


def test_what_is_left_out_is_reported_at_the_end(written: io.StringIO) -> None:
    for number in range(MOST_LINES + 2):
        fail(number)
    for handler in log.handlers:
        handler.close()
    assert "2 more like this" in written.getvalue()


def test_lines_of_json_name_the_request_and_failures_are_counted(clock: Clock) -> None:
    text, handler = io.StringIO(), Counting(as_json=True)
    handler.setStream(text)
    log.addHandler(handler)
    before, token = FAILURES[log.name], REQUEST.set("abc")
    try:
        for number in range(MOST_LINES + 1):
            fail(number)
        fail_with_traceback()
    finally:
        REQUEST.reset(token)
        log.removeHandler(handler)
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    assert FAILURES[log.name] - before == MOST_LINES + 2
    assert [line["message"] for line in lines[-2:]] == [f"failure {MOST_LINES - 1}", "failed"]
    assert {line["request"] for line in lines} == {"abc"}
    assert "ValueError: no" in lines[-1]["error"]
