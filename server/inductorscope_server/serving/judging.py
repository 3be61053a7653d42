"""Has an edit of a kernel judged by the playground's process, and keeps the verdict."""

from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.analyze.judging.verdict import Verdict
from inductorscope.answers.explorer.attempts import Attempt, kept_attempt
from inductorscope.capturing.playground.order import Ready
from starlette.concurrency import run_in_threadpool

from inductorscope_server.analysis.case import judge_order
from inductorscope_server.serving.turns import whose_turn
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.parts import Parts


async def asked(
    parts: Parts, run: str, slug: str, call: tuple[str, int], text: str, *, why: str
) -> Verdict:
    """`call`: the kernel's name and the handle; `text`: if empty, the process only gets ready for
    edits of the kernel; `why`: where the text comes from. Raises Refusal unless the process is
    confined."""
    try:
        order = await parts.analysis(judge_order, run, slug, *call, text=text)
    except NoCase as error:
        raise Refusal(422, str(error)) from None
    refuse_unconfined(await parts.playground.ready(whose_turn()), why)
    return await parts.playground.judge(whose_turn(), order)


async def judged(
    parts: Parts, run: str, slug: str, call: tuple[str, int], text: str, *, why: str
) -> Attempt:
    """Also keeps the verdict."""
    verdict = await asked(parts, run, slug, call, text, why=why)

    def keep() -> Attempt:
        with parts.write.begin() as session:
            return kept_attempt(session, run, slug, call, text, verdict=verdict)

    return await run_in_threadpool(keep)


def refuse_unconfined(ready: Ready, why: str) -> None:
    """Raises Refusal if the process that would run the code is not confined."""
    missing = [f"{what} ({why})" for what, why in ready.protections.items() if why]
    if missing:
        raise Refusal(
            403,
            f"This code {why}, and this machine cannot confine it: {', '.join(missing)}.",
            do="Run it where the kernel allows namespaces and seccomp.",
        )
