"""Requests are worked on in turn, and senders do not take those of others."""

import asyncio

import pytest
from inductorscope_server.serving.turns import AT_ONCE, MOST_WAITING, OF_ONE, TooManyWaiting, Turns

from tests.support.running import run_alone


def test_a_sender_of_many_requests_leaves_turns_to_others() -> None:
    async def attacked() -> None:
        turns, done = Turns(), asyncio.Event()
        working: list[str] = []

        async def request(sender: str) -> None:
            async with turns.turn(sender):
                working.append(sender)
                await done.wait()

        tasks = [asyncio.create_task(request("many")) for _ in range(OF_ONE + MOST_WAITING)]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(request("one")) for _ in range(AT_ONCE - OF_ONE)]
        await asyncio.sleep(0.01)
        assert working.count("many") == OF_ONE
        assert working.count("one") == AT_ONCE - OF_ONE
        with pytest.raises(TooManyWaiting):
            async with turns.turn("many"):
                pass
        done.set()
        await asyncio.gather(*tasks)
        assert len(working) == len(tasks)

    run_alone(attacked())


def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    async def leaving() -> None:
        turns = Turns()
        async with turns.turn("a"):
            pass
        blocked = [turns.turn("a") for _ in range(OF_ONE)]
        for request in blocked:
            await request.__aenter__()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), turns.turn("a"):
                pass
        for request in blocked:
            await request.__aexit__(None, None, None)
        async with turns.turn("a"):
            pass

    run_alone(leaving())
