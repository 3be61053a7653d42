"""Sessions in which writing a run and ending its job are one transaction.

So there is no moment at which a run is there and its job does not know: a job that is repeated
after a crash finds itself done, and an attempt that has no say any more cannot leave a run behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.orm import ORMExecuteState, Session, sessionmaker

from ..store.engine import Sessions
from ..store.models import Run
from . import transitions
from .transitions import Attempt, Event

RUN = "inductorscope_run_written"


class OvertakenError(Exception):
    """The job was cancelled, or another attempt is at work: what we did does not count."""


def ending_sessions(
    engine: Engine, attempt: Attempt, last_lines: Callable[[], list[Event]]
) -> Sessions:
    """Sessions that end the job with the run they insert.

    `last_lines` is called ahead of that, for lines of the log that are still to be written.
    """
    factory = sessionmaker(engine, expire_on_commit=False)

    def notice(state: ORMExecuteState) -> None:
        mapper = state.bind_mapper
        if state.is_insert and mapper is not None and mapper.class_ is Run:
            state.session.info[RUN] = _id_of(state.parameters)

    def end(session: Session) -> None:
        run_id = session.info.pop(RUN, None)
        if run_id is None:
            return
        lines = last_lines()
        run = session.get_one(Run, run_id)
        message = read_sentence(run.graph_count, run.kernel_count)
        if not transitions.complete(
            session, attempt, run_id=run_id, duplicate=False, message=message
        ):
            raise OvertakenError
        # Ahead of the end: who follows the log stops reading once the job is done.
        lines.extend(left_out(run.report.get("dropped", [])))
        lines.append((transitions.now(), "info", message))
        transitions.add_events(session, attempt.job_id, lines)

    def forget(session: Session, *_: object) -> None:
        session.info.pop(RUN, None)

    event.listen(factory, "do_orm_execute", notice)
    event.listen(factory, "before_commit", end)
    event.listen(factory, "after_soft_rollback", forget)
    return factory


def left_out(dropped: Iterable[Mapping[str, Any]]) -> list[Event]:
    """Lines of the log about what was not read, as a run's report has it."""
    return [
        (
            transitions.now(),
            "warning",
            f"Left out {item['file']}: {item['reason']} ({item['count']})",
        )
        for item in dropped
    ]


def read_sentence(graphs: int, kernels: int) -> str:
    """What came out, for a person."""
    return f"Read {_count(graphs, 'graph')} with {_count(kernels, 'generated kernel')}."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _id_of(parameters: Any) -> str:  # noqa: ANN401  # one row or several
    row = parameters[0] if isinstance(parameters, list) else parameters
    return str(row["id"])
