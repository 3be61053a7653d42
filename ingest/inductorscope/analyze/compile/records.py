"""The contribution of each kind of record to the story."""

from collections.abc import Callable
from typing import Any

from inductorscope.analyze.compile.model import (
    CacheEvent,
    Compile,
    Expression,
    Failure,
    GraphBreak,
    KernelCompiled,
    Recompile,
    Symbol,
    SymbolGuard,
)
from inductorscope.analyze.compile.state import LogState
from inductorscope.analyze.ranks.differences import schedule
from inductorscope.analyze.totals import known_sum
from inductorscope.fields import view
from inductorscope.formats.border import figure, read_object
from inductorscope.formats.log.cache_records import CACHES, OUTCOMES, read_cache_answer
from inductorscope.formats.log.cuda_graphs import skip_reason
from inductorscope.formats.log.graph_breaks import read_graph_break
from inductorscope.formats.log.guard_failures import read_guard_failures, source_as_written
from inductorscope.formats.log.kinds import (
    BACKWARD_METRICS,
    BY_NAME,
    DYNAMO_ERROR,
    DYNAMO_START,
    GRAPH_BREAK,
    KINDS,
    METRICS,
    OUTPUT_CODE,
    RECOMPILED,
    SCHEDULE,
    UNBACKED_SYMBOL,
)
from inductorscope.formats.log.record import LogRecord, integer, read_head
from inductorscope.formats.log.shape_records import ShapeRecord, read_shape_record
from inductorscope.units import plural

LONGEST = 4000
TRACE_LINES = 60
MOST_OPTIONS = 20
"""Most settings of a kernel's configuration."""

Handler = Callable[[LogState, LogRecord, int], None]
"""Handles a record of the compile with that number."""


def _start(log: LogState, record: LogRecord, number: int) -> None:
    compile_ = log.story.compiles[number]
    if not record.attempt and compile_.stack:
        compile_ = log.begin(record)
    if not compile_.stack:
        compile_.stack = log.stack(record.stack)
    _counted(compile_.id, log, compile_.number)


def _counted(compile_id: str | None, log: LogState, number: int) -> None:
    """Marks recompiles: every compile of a frame but the first, even without a logged reason."""
    last = (compile_id or "").rpartition("/")[2]
    if last.isdecimal() and int(last) > 0:
        log.story.compiles[number].recompile = True


def _metrics(log: LogState, record: LogRecord, number: int) -> None:
    facts = record.body if isinstance(record.body, dict) else {}
    compile_ = log.story.compiles[number]
    if compile_.id is None and isinstance(facts.get("compile_id"), str):
        known = log.current(facts["compile_id"])
        compile_ = known if known is not None else compile_
    backward = record.kind == BACKWARD_METRICS or facts.get("is_forward") is False
    seconds = _seconds(facts, _BACKWARD if backward else _FORWARD)
    if backward:
        compile_.backward_seconds = known_sum((compile_.backward_seconds, seconds))
        return
    compile_.seconds = seconds if seconds is not None else compile_.seconds
    compile_.function = _text(facts.get("co_name")) or compile_.function
    compile_.file = _text(facts.get("co_filename")) or compile_.file
    compile_.first_line = integer(facts.get("co_firstlineno")) or compile_.first_line
    compile_.guards = integer(facts.get("guard_count"))
    compile_.guard_us = figure(facts.get("guard_latency_us"))
    compile_.ops = integer(facts.get("graph_op_count"))
    compile_.nodes = integer(facts.get("graph_node_count"))
    compile_.inputs = integer(facts.get("graph_input_count"))
    skip = _text(facts.get("cudagraph_skip_reason"))
    compile_.cudagraph_skip = skip and skip_reason(skip)
    compile_.outcome = "no code"  # until a code or a cache hit changes it
    fail = _text(facts.get("fail_type"))
    if fail:
        compile_.outcome = "failed"
        _failed(log, record, compile_.number, fail, facts)
    listed = facts.get("restart_reasons")
    restarts = [str(reason)[:LONGEST] for reason in listed] if isinstance(listed, list) else []
    # Until 2.4, most graph breaks appear only among the reasons why Dynamo restarted.
    if "restart_reasons" in facts and "config_suppress_errors" not in facts:
        _broken(log, record, compile_.number, restarts)
    for reason in restarts:
        if log.run.room(log.story.failures, "restarts"):
            log.story.failures.append(
                Failure(compile_.number, log.number, record.line, "restart", reason,
                        restarted=True)
            )  # fmt: skip


def _broken(log: LogState, record: LogRecord, number: int, reasons: list[str]) -> None:
    """Adds graph breaks that have no record of their own."""
    for reason in reasons:
        log.story.compiles[number].breaks += 1
        if log.run.room(log.story.breaks, "graph breaks"):
            broken = GraphBreak(number, log.number, record.line, None, at=None, title=reason)
            log.story.breaks.append(broken)


def _failed(
    log: LogState, record: LogRecord, number: int, kind: str, facts: dict[str, Any]
) -> None:
    """Adds a failure; its error may be logged already, with the traceback."""
    message = _text(facts.get("fail_reason")) or ""
    file = _text(facts.get("fail_user_frame_filename"))
    at = integer(facts.get("fail_user_frame_lineno"))
    for failure in log.story.failures:
        if failure.compile == number and not failure.restarted:
            failure.kind, failure.file, failure.at = kind, file, at
            failure.message = message or failure.message
            return
    if log.run.room(log.story.failures, "failures"):
        failure = Failure(number, log.number, record.line, kind, message, restarted=False)
        failure.file, failure.at = file, at
        log.story.failures.append(failure)


def _error(log: LogState, record: LogRecord, number: int) -> None:
    lines = record.payload_text.rstrip().split("\n")
    kind, _, message = next(
        (line for line in reversed(lines) if ": " in line and not line.startswith((" ", "\t"))),
        lines[-1] if lines else "",
    ).partition(": ")
    log.story.compiles[number].outcome = "failed"
    if log.run.room(log.story.failures, "failures"):
        log.story.failures.append(
            Failure(
                number, log.number, record.line, kind[:300] or "error", message[:LONGEST],
                restarted=False, trace="\n".join(lines[-TRACE_LINES:])[:LONGEST * 3],
            )
        )  # fmt: skip


def _break(log: LogState, record: LogRecord, number: int) -> None:
    log.story.compiles[number].breaks += 1
    if not log.run.room(log.story.breaks, "graph breaks"):
        return
    text = read_graph_break(record.payload_text)
    log.story.breaks.append(
        GraphBreak(
            compile=number, log=log.number, line=record.line, file=text.file, at=text.line,
            title=text.title[:LONGEST], explanation=text.explanation[:LONGEST],
            hints=[hint[:LONGEST] for hint in text.hints[:20]], context=text.context[:LONGEST],
            link=text.link, instruction=text.instruction[:300],
            stack=log.stack([frame.logged for frame in text.stack]),
        )
    )  # fmt: skip


def _recompiled(log: LogState, record: LogRecord, number: int) -> None:
    """Adds reasons. The record comes before its compile starts, with that compile's id."""
    compile_ = log.story.compiles[number]
    if compile_.stack:
        compile_ = log.begin(record)
    compile_.recompile = True
    _named(compile_, record)
    first = log.current(f"{(record.compile_id or '').rpartition('/')[0]}/0")
    if first is not None:
        _named(first, record)
    if not log.run.room(log.story.recompiles, "recompiles"):
        return
    text = record.payload_text[: LONGEST * 10]
    log.story.recompiles.append(
        Recompile(
            compile_.number, log.number, record.line,
            read_guard_failures(text)[:50], text[:LONGEST],
        )
    )  # fmt: skip


def _named(compile_: Compile, record: LogRecord) -> None:
    """Takes the function's name from a TORCH_LOGS text; other logs have it in the metrics."""
    facts = record.body if isinstance(record.body, dict) else {}
    compile_.function = compile_.function or _text(facts.get("co_name"))
    compile_.file = compile_.file or _text(facts.get("co_filename"))
    compile_.first_line = compile_.first_line or integer(facts.get("co_firstlineno"))


def _code(log: LogState, record: LogRecord, number: int) -> None:
    log.story.compiles[number].codes += 1


def _exported(log: LogState, record: LogRecord, number: int) -> None:
    log.story.compiles[number].outcome = "exported"


def _cache(log: LogState, record: LogRecord, number: int) -> None:
    answer = read_cache_answer(record.name or "", record.payload or b"")
    if answer is None:
        return
    compile_ = log.story.compiles[number]
    compile_.hits += answer.outcome == "hit"
    compile_.misses += answer.outcome == "miss"
    if log.run.room(log.story.caches, "answers of caches"):
        event = view(CacheEvent, answer, compile=number, log=log.number, line=record.line)
        log.story.caches.append(event)


def _symbol(log: LogState, record: LogRecord, number: int) -> None:
    facts = read_shape_record(record)
    if facts.symbol is None or not log.run.room(log.story.symbols, "symbols"):
        return
    source = (facts.source or "")[:500]
    frame = _user_frame(log, facts)
    for known in reversed(log.story.symbols):
        if known.compile != number:
            break
        if known.name == facts.symbol and known.source == source:
            return  # another attempt of the same compile
    log.story.symbols.append(
        Symbol(
            compile=number, log=log.number, line=record.line, name=facts.symbol[:100],
            source=source, subject=source_as_written(source),
            value=None if facts.val is None else facts.val[:200],
            range=None if facts.vr is None else facts.vr[:200],
            unbacked=record.kind == UNBACKED_SYMBOL, frame=frame,
        )
    )  # fmt: skip


def _symbol_guard(log: LogState, record: LogRecord, number: int) -> None:
    if not log.run.room(log.story.symbol_guards, "guards on symbols"):
        return
    facts = read_shape_record(record)
    text = facts.expr or facts.op or facts.symbol or ""
    if facts.sources and BY_NAME[record.kind].guard == "specialisation":
        text = ", ".join(source_as_written(source) for source in facts.sources[:10])
    sources = {name: source_as_written(source) for name, source in facts.symbol_sources.items()}
    log.story.symbol_guards.append(
        SymbolGuard(
            number, log.number, record.line, BY_NAME[record.kind].guard, text=text[:LONGEST],
            value=facts.value if facts.value is not None else facts.result,
            reason=None if facts.reason is None else facts.reason[:LONGEST],
            frame=_user_frame(log, facts), locals=facts.locals, sources=sources,
        )
    )  # fmt: skip


def _expression(log: LogState, record: LogRecord, number: int) -> None:
    facts = read_shape_record(record)
    if facts.result is None or not log.run.room(log.story.expressions, "expressions"):
        return
    ours = len(log.story.expressions)
    made_from = [log.expressions[key] for key in facts.argument_ids if key in log.expressions]
    if facts.result_id is not None:
        log.expressions[facts.result_id] = ours
    log.story.expressions.append(
        Expression(
            number=ours, text=facts.result[:LONGEST], method=(facts.method or "")[:100],
            arguments=[argument[:500] for argument in facts.arguments[:20]], made_from=made_from,
            frame=_user_frame(log, facts), line=record.line,
        )
    )  # fmt: skip


def _kernel_info(log: LogState, record: LogRecord, number: int) -> None:
    kernels = read_object(record.payload or b"", log.phases.unread) or {}
    for name, facts in kernels.items():
        if not isinstance(facts, dict) or not log.run.room(log.story.kernels, "kernels"):
            continue
        only = facts.get("only_config")
        chosen = _pairs(only or facts.get("best_config"))
        count = 1 if only else integer(facts.get("num_configs"))
        state = _text(facts.get("autotune_cache_state")) or ""
        if count is not None and not only:
            tried = plural(count, "configuration")
            state = f"{state}, {tried}" if state else tried
        written = ", ".join(f"{key} {value}" for key, value in chosen.items())
        log.story.kernels.append(
            KernelCompiled(
                compile=number, name=str(name)[:500], us=figure(facts.get("compile_time_us")),
                configuration=written[:500], state=state[:300],
                options={key: value for key, value in chosen.items() if type(value) is int},
                tried=count,
            )
        )  # fmt: skip


def _pairs(configuration: object) -> dict[str, object]:
    """Returns a configuration, which torch writes as an object or as a list of pairs."""
    if isinstance(configuration, dict):
        configuration = [list(item) for item in configuration.items()]
    listed = configuration[:MOST_OPTIONS] if isinstance(configuration, list) else []
    pairs = [item for item in listed if isinstance(item, list) and len(item) == 2]
    return {str(key)[:100]: value for key, value in pairs}


def _link(log: LogState, record: LogRecord, number: int) -> None:
    facts = record.body if isinstance(record.body, dict) else {}
    name, url = _text(facts.get("name")) or "link", _text(facts.get("url"))
    compile_ = log.story.compiles[number]
    if url and url.startswith(("https://", "http://")) and len(compile_.links) < 20:
        compile_.links.append((name[:100], url[:1000]))


def _user_frame(log: LogState, facts: ShapeRecord) -> int | None:
    frames = facts.user_frames
    return log.frame(frames[-1]) if frames else None


_FORWARD = (
    ("entire_frame_compile_time_s", 1), ("dynamo_cumulative_compile_time_us", 1e6),
    ("duration_us", 1e6), ("backend_compile_time_s", 1), ("inductor_compile_time_s", 1),
)  # fmt: skip
_BACKWARD = (
    ("backward_cumulative_compile_time_us", 1e6), ("duration_us", 1e6),
    ("inductor_compile_time_s", 1), ("inductor_cumulative_compile_time_us", 1e6),
)  # fmt: skip


def _seconds(facts: dict[str, Any], names: tuple[tuple[str, float], ...]) -> float | None:
    for name, unit in names:
        value = figure(facts.get(name))
        if value is not None:
            return value / unit
    return None


def _text(value: object) -> str | None:
    return value[:LONGEST] if isinstance(value, str) else None


def _schedule(log: LogState, record: LogRecord, number: int) -> None:
    log.story.compiles[number].collectives = schedule(record.payload or b"")


HANDLERS: dict[str, Handler] = {
    DYNAMO_START: _start,
    METRICS: _metrics,
    BACKWARD_METRICS: _metrics,
    DYNAMO_ERROR: _error,
    GRAPH_BREAK: _break,
    RECOMPILED: _recompiled,
    OUTPUT_CODE: _code,
    "inductor_aot_wrapper_code": _code,
    "exported_program": _exported,
    "create_symbol": _symbol,
    UNBACKED_SYMBOL: _symbol,
    "expression_created": _expression,
    "triton_kernel_info": _kernel_info,
    "link": _link,
    SCHEDULE: _schedule,
    **{kind.name: _symbol_guard for kind in KINDS if kind.guard},
    **{f"{cache}_cache_{outcome}": _cache for cache in CACHES for outcome in OUTCOMES},
}
"""The handler of each kind of record, by the kind's name; other kinds add nothing to the story."""


def metrics_of(line: bytes) -> dict[str, Any]:
    """The figures in a line of a log with `compilation_metrics` or similar."""
    record = read_head(line, 1, [])
    body = None if record is None else record.body
    return body if isinstance(body, dict) else {}
