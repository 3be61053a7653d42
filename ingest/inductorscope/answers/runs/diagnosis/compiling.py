"""Causes in compiling: failures, graph breaks, recompiles, caches."""

import re

from inductorscope import urls
from inductorscope.analyze.compile.branches import (
    ends_loop,
    function_end,
    only_checks,
    without_branch,
)
from inductorscope.analyze.compile.breaks import BreakPlace, break_places, cut_lines
from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.analyze.compile.recompiles import History, alike, histories
from inductorscope.analyze.compile.resumptions import resumed
from inductorscope.analyze.compile.words import change_in_words
from inductorscope.analyze.failures.fold import is_library
from inductorscope.analyze.failures.known import ChainStep
from inductorscope.analyze.failures.shown import Shown
from inductorscope.answers.runs.diagnosis.cause import Cause, CauseLine, Cleared
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.diagnosis.remedies import remedies
from inductorscope.answers.runs.diagnosis.uncompiled import broken_out, kernel_shares
from inductorscope.answers.runs.diagnosis.waiting import STATIC, grown, records_graphs
from inductorscope.formats.change import Change
from inductorscope.formats.vocabulary import OVERHEAD, SOURCE
from inductorscope.units import percent, plural, seconds

DYNAMIC = Change(dynamic=True)
CAUSAL = (
    "Say whether the mask is causal, `is_causal=True` or `False`, where the encoder or decoder is "
    "called: else it looks at the mask's values."
)
MOSTLY = 0.3
"""Share of the kernels' time from which uncompiled code is the first cause."""
STARTS = 0.1
"""Part of the share of a later start that counts for the rank of a cause."""
_ON_DATA = re.compile(r"data.dependent|\.item\(|generic_jump|dynamic control flow|scalar", re.I)
_SIZES = "capture_dynamic_output_shape_ops"
WITHOUT_WAITS = {
    "capture_scalar_outputs": "If the program only keeps or prints the value, keep the tensor, and "
    "read it every hundred steps: the host waits for each value.",
    _SIZES: "Avoid sizes that depend on data, for which a device waits: `torch.where` and masks "
    "keep the size; rows of groups, such as of experts, can be sorted and multiplied in one "
    "batched product.",
}
"""What to write instead of what a setting of torch includes in graphs: on a device, and for sizes
in a loop, which branches on them, on a processor too."""
MOST_CHANGES = 3
TWO_MODES = ("training", "grad_mode")
FEWEST_RESETS = 3
_EVIDENCE = "The page Failures has the whole message, and where it comes from."


def failure(evidence: Evidence) -> Cause | None:
    """The program failed."""
    page = evidence.failures
    if page is None or not page.failures:
        return None
    first = page.failures[0]
    more = len(page.failures) + page.more - 1
    user = first.user
    said = " ".join([first.title, *first.sentences])
    branch = "" if user is None else _branch(evidence, user.file, user.line, said)
    title, sentences = first.title, first.sentences
    if title.endswith(" failed") and sentences:  # it says where, the first sentence says what
        title, sentences = f"{title}: {sentences[0]}", sentences[1:]
    why = [first.cause_sentence or next(iter(sentences), ""), first.on]
    if more:
        why.append(f"The page Failures has {plural(more, 'more failure')}.")
    return Cause(
        "failure",
        title if title.endswith(("!", "?")) else f"{title.rstrip('.:')}.",
        " ".join(filter(None, (branch, _EVIDENCE if first.fix is None else first.fix.do))),
        urls.failures(evidence.id),
        why=" ".join(filter(None, why)),
        urgent=True,
        lines=_failed_line(evidence, first),
    )


def _failed_line(evidence: Evidence, shown: Shown) -> list[CauseLine]:
    chains: list[list[ChainStep]] = []
    for error in shown.errors:
        chains += [*(suspect.chain for suspect in error.suspects), error.chain]
    chains += [node.chain for node in shown.nodes]
    for chain in chains:
        for step in chain:
            if step.stage == SOURCE:
                return evidence.line(step.path, step.line, step.text)
    user = shown.user
    return [] if user is None else evidence.line(user.file, user.line, user.code)


def graph_breaks(evidence: Evidence) -> Cause | Cleared | None:
    """Dynamo cuts a function into several graphs."""
    story = evidence.story.story
    if story is None:
        return Cleared(
            "No log of compiling was read: graph breaks and recompiles are unknown.", judged=False
        )
    places = break_places(story)
    if not places:
        return Cleared("No graph breaks.") if _complete(story) else Cleared(
            "The texts do not say whether there are graph breaks or recompiles: record a log with "
            "`TORCH_TRACE`.", judged=False,
        )  # fmt: skip
    first = min(places, key=lambda place: (not place.skips, not place.advice))
    total = f"{plural(sum(place.count for place in places), 'graph break')}"
    if len(places) > 1:
        total += f" at {plural(len(places), 'place')}"
    own: list[CauseLine] = []
    if is_library(first.file or ""):
        calls = (at for at in cut_lines(story, first)[1:] if not is_library(at[0] or ""))
        own = evidence.line(*next(calls, (None, None))) or evidence.own_line(first.stack)
    shares = kernel_shares(evidence)
    share = None if shares is None else shares.eager / shares.whole
    why = "Each ends a graph: nothing fuses across it, and guards are checked again after it."
    what = f"{total}{': ' if len(places) == 1 else ', such as '}{first.short}."
    if first.skips:
        what = f"{total}: Dynamo runs {_skipped(evidence, first)} uncompiled, because {first.short}"
        what += " breaks the graph in a loop."
        why = "Torch cannot go on compiling inside of a loop."
    if share is not None:
        why += f" {percent(share)} of the kernels' time in the profile is not compiled."
    again = [history for history in histories(story) if _only(history, "stack")]
    limit = any(history.reached_limit for history in again)
    if again:
        count = plural(sum(history.recompiles for history in again), "recompile")
        why += f" Values that are passed on cost {count} of the code after it"
        why += ", which runs uncompiled from torch's limit on." if limit else "."
    fix = mended(evidence, first)
    if own and fix != CAUSAL:
        fix += " Or call what leads to it before the compiled function, and pass the result in."
    return Cause(
        "graph breaks",
        what,
        fix,
        urls.compile_story(evidence.id) + "#breaks",
        why=why,
        concerns=max(
            (share or 0.0) if shares and broken_out(evidence, shares) else 0.0,
            _lost(evidence) or 0.0,
        )
        or None,
        urgent=limit or (first.skips and (share is None or share >= MOSTLY)),
        lines=[*own, *evidence.line(first.file, first.line, first.code)],
    )


def _complete(story: Story) -> bool:
    """Whether the logs would have all graph breaks and recompiles."""
    return bool(story.logs) and all(log.complete for log in story.logs)


def _lost(evidence: Evidence) -> float | None:
    """Returns the share of a step that calling many graphs takes more than calling one: what the
    device waits, or on a processor, what their guards and wrappers take."""
    shown, line = evidence.shown, evidence.timeline
    calls = sum(region.calls for region in evidence.regions) / (shown.by if shown else 1)
    if line is None or calls <= 1:
        return None
    device = evidence.on_device
    lost = [part.share for part in line.parts if (part.idle if device else part.name == OVERHEAD)]
    return sum(lost) * (1 - 1 / calls)


def _skipped(evidence: Evidence, place: BreakPlace) -> str:
    """Returns what Dynamo runs uncompiled: `lines 22 to 28 of f`."""
    story = evidence.story.story
    if story is None or place.skipped is None or place.skipped < 0:
        return f"all of `{place.function}`" if place.function else "all of the function"
    skipped = story.compiles[place.skipped]
    function, start = resumed(skipped.function or "the function")
    begin = skipped.first_line if start is None else start + 1
    end = function_end(evidence.story.source_text(skipped.file), begin or 0)
    if begin and end:
        return f"lines {begin} to {end} of `{function}`"
    return f"all of `{function}`" if start is None else f"the rest of `{function}`"


def mended(evidence: Evidence, place: BreakPlace) -> str:
    """Returns what to write instead of the line that breaks."""
    if place.stack and place.stack[-1].function == "_detect_is_causal_mask":
        return CAUSAL  # torch's hint would only move the break to a branch of the layer
    branch = _branch(evidence, place.file, place.line, f"{place.title} {place.advice}")
    if branch and (place.skips or "capture_scalar_outputs" in place.advice):
        return branch  # torch's hint would only move the break to the branch
    if not branch:  # torch's hints would keep the waits
        for setting, instead in WITHOUT_WAITS.items():
            anywhere = place.skips and setting == _SIZES
            if setting in place.advice and (anywhere or evidence.on_device):
                return f"{instead} Else: {place.advice}"
    if hints := " ".join(filter(None, (branch, place.advice))):
        return hints
    if "args/kwargs to proxy" in place.title:
        return (
            "No graph can hold an argument of it, such as a `torch.Generator`: call it before the "
            "compiled function, and pass its result."
        )
    if place.explanation and not place.skips:  # in a loop, it tells only that
        return f"Torch has no hint: {place.explanation.partition(chr(10))[0]}"
    return "Move it out of the compiled function, or write it with operators of torch."


def _branch(evidence: Evidence, path: str | None, line: int | None, reason: str) -> str:
    """Returns how to do without a branch on a tensor's value; empty if the line is none."""
    if not _ON_DATA.search(reason):
        return ""
    source = evidence.story.source_text(path)
    if only_checks(source, line or 0):
        return (
            "The line only checks a value: return it, and check it once after the call, outside of "
            "the compiled function."
        )
    if ends_loop(source, line or 0):
        return (
            "The value decides when a loop ends, which a graph cannot: let it run a fixed number "
            "of times, or compile a few of its rounds, and look at the value between their calls."
        )
    instead = without_branch(source, line or 0)
    if instead is None:
        return ""
    if not instead:
        return (
            "The value decides a branch, which a graph cannot have: compute both sides and choose "
            "with `torch.where(condition, a, b)`, or use `torch.cond` if they are costly."
        )
    return f"Do without the branch: `{instead}`. If it only limits a value, use `clamp`."


def recompiles(evidence: Evidence) -> Cause | Cleared | None:
    """Dynamo compiles a function again."""
    story = evidence.story.story
    if story is None:
        return None
    own = [history for history in histories(story) if not _only(history, "wrapper")]
    if own and all(_only(history, "stack") for history in own):
        return None  # the cause on graph breaks says so
    own = [row for row in own if not (_only(row, "stack") or _serves_two_modes(row))]
    again = [
        step.compile
        for history in own
        for step in history.steps
        if step.compile.recompile and step.compile.outcome != "failed"
    ]
    if not again:
        others = any(other.recompile and other.outcome != "failed" for other in story.compiles)
        text = "No function is compiled again" if others else "No recompiles"
        if any(map(_serves_two_modes, histories(story))):
            text += ", but for training and for evaluation, which need a compile each"
        return Cleared(f"{text}.") if _complete(story) else None
    log, us, whole, note = _slowest_process(story, again)
    first = min((row for row in own if row.log == log), key=lambda row: not row.changes)
    changes = alike([change for change in first.changes if change.kind != "wrapper"])
    number = sum(history.log == log for history in again)
    padded = {change.kind for change in changes} == {"static"} and not first.reached_limit
    if padded and records_graphs(evidence):
        return Cleared(f"Under `dynamic=False`, {number + 1} sizes have a CUDA graph each.")
    fix, wins = remedies(evidence.story, first, changes)
    bound = any(change.kind == "grad_mode" for change in changes)  # some programs need two modes
    if {change.kind for change in changes} == {"attribute"} and _in_each_step(evidence, first):
        fix, bound = _OWN_VALUES, True
    if any(change.kind == "size" for change in changes) and grown(evidence):
        fix, bound = f"{STATIC} Else: {fix}", True
    wrapped, last = is_library(first.file or ""), first.steps[-1].compile
    name = "a compiled module" if wrapped else f"`{first.function}`"
    if first.resumed_at:
        name += f" after line {first.resumed_at}"
    took = f"They take {seconds(us / 1e6)} of {seconds(whole)} of compile time{note}." if us else ""
    if first.reached_limit:
        took += " At the recompile limit Dynamo runs it uncompiled."
    reasons = "; ".join(map(change_in_words, changes[:MOST_CHANGES]))
    part = f", {first.recompiles} of them" if number > first.recompiles else ""
    return Cause(
        "recompiles",
        f"{plural(number, 'recompile')}{part} of {name}, "
        + (f"because {reasons}." if reasons else "for reasons not in the log."),
        fix or "Keep what the guard checks the same between calls.",
        urls.compile_story(evidence.id) + "#recompiles",
        why=took.lstrip(),
        wins_us=wins or None,
        share=wins / 1e6 / whole if wins and whole else None,
        of="compile time",
        known="unknown" if not wins else "at most" if bound else "estimated",
        concerns=us / 1e6 / whole if us and whole else None,
        urgent=first.reached_limit and bool(changes),
        change=DYNAMIC if any(change.kind in ("size", "static") for change in changes) else None,
        lines=[
            *evidence.line(first.file, first.line),
            *(evidence.own_line([story.frames[at] for at in last.stack]) if wrapped else []),
        ],
    )


_OWN_VALUES = (
    "Each step needs all of these values, as layers do that have one each. Compile the model that "
    "calls them as a whole: there they are constants, and nothing is compiled again. Decorate the "
    "function with `torch.compiler.nested_compile_region`: calls that differ only in what makes no "
    "difference to the code then share it."
)


def _in_each_step(evidence: Evidence, history: History) -> bool:
    """Whether a step calls the function as often as it was compiled."""
    ids = {step.compile.id for step in history.steps}
    calls = sum(region.calls for region in evidence.regions if region.compile_id in ids)
    return evidence.shown is not None and calls >= max(len(ids), 3) * evidence.shown.by


def _serves_two_modes(history: History) -> bool:
    """Whether a function has one compile for training and one for evaluating."""
    return len(history.steps) == 2 and any(_only(history, kind) for kind in TWO_MODES)


def _only(history: History, kind: str) -> bool:
    """Whether a function was compiled again for changes of one kind alone: `wrapper` means that
    torch compiled others through one of its own, `stack` that a graph break passed on a value."""
    return bool(history.changes) and all(change.kind == kind for change in history.changes)


def _slowest_process(story: Story, compiles: list[Compile]) -> tuple[int, float, float | None, str]:
    """Returns the log in which some compiles take longest, their time in us, the log's compile
    time, and which process it is of; processes compile side by side, so times are not summed."""
    spent: dict[int, float] = {}
    for compile_ in compiles:
        spent[compile_.log] = spent.get(compile_.log, 0.0) + 1e6 * compile_.took_s
    log = max(spent, key=lambda number: spent[number])
    facts, note = story.logs[log], ""
    if len(spent) > 1:
        who = "one process" if facts.rank is None else f"rank {facts.rank}"
        note = f" of {who}, the slowest of {len(spent)}"
    return log, spent[log], facts.seconds, note


def resets(evidence: Evidence) -> Cause | None:
    """The program throws compiled code away, and compiles it again."""
    story, script = evidence.story.story, evidence.script
    if story is None or script is None:
        return None
    again = [compile_ for compile_ in story.compiles if compile_.occurrence]
    anew = evidence.step_us is None and not again  # each step compiles, so none was timed
    if anew:
        names = [(done.file, done.first_line, done.function) for done in story.compiles]
        later = [at for at, name in enumerate(names) if names.index(name) < at]
        again = [story.compiles[at] for at in later if not story.compiles[at].recompile]
    if len(again) < FEWEST_RESETS:
        return None
    _, us, whole, note = _slowest_process(story, again)
    return Cause(
        "resets",
        f"{plural(len(again), 'compile')} of code that was compiled before, because the program "
        + ("defined it anew." if anew else "threw it away."),
        "Define the function and call `torch.compile` once, before the loop"
        + ("." if anew else "; leave out `torch._dynamo.reset()`."),
        urls.compile_list(evidence.id),
        why=f"They take {seconds(us / 1e6)} of {seconds(whole)} of compile time{note}.",
        wins_us=us or None,
        share=us / 1e6 / whole if us and whole else None,
        of="compile time",
        known="estimated" if us else "unknown",
        urgent=True,
        lines=evidence.own_line([story.frames[number] for number in again[0].stack]),
    )


def no_code(evidence: Evidence) -> Cause | None:
    """A backend that is for finding faults runs the graphs as they are."""
    story = evidence.story.story
    if story is None or evidence.script is None:
        return None
    traced = [done for done in story.compiles if done.ops and done.outcome != "failed"]
    if not traced or any(compile_.outcome != "no code" for compile_ in traced):
        return None
    return Cause(
        "no code",
        f"Dynamo traces {plural(len(traced), 'graph')}, and the backend generates no code: the "
        "operators run one by one, as in eager.",
        "Leave out `backend=…` of `torch.compile`: `eager` and `aot_eager` are for finding faults.",
        urls.compile_list(evidence.id),
        urgent=True,
        lines=evidence.line(traced[0].file, traced[0].first_line),
    )


def caches(evidence: Evidence) -> Cause | Cleared | None:
    """A cache is bypassed, so every start compiles again."""
    story = evidence.story.story
    if story is None or not story.caches:
        return None
    bypassed = [cache for cache in story.caches if cache.outcome == "bypass"]
    if not bypassed:
        return Cleared("No cache is bypassed.")
    numbers = {bypass.compile for bypass in bypassed}
    _, us, whole, _ = _slowest_process(story, [story.compiles[number] for number in numbers])
    why = next((bypass.reason for bypass in bypassed if bypass.reason), "")
    took = f"A start takes {seconds(us / 1e6)} for that." if us else ""
    return Cause(
        "caches",
        f"The {bypassed[0].cache} cache is bypassed for {plural(len(numbers), 'compile')}, so "
        f"every start of the program compiles {'it' if len(numbers) == 1 else 'them'} again.",
        "Turn it on: `torch._inductor.config.fx_graph_cache = True`."
        if "not enabled" in why
        else "Take what the reason names out of the compiled function, or accept the longer start.",
        urls.compile_story(evidence.id) + "#caches",
        why=" ".join(
            filter(None, (f"Torch's reason: {why[:200].rstrip('.')}." if why else "", took))
        ),
        of="compile time",
        # Every step counts more than a later start.
        concerns=STARTS * us / 1e6 / whole if us and whole else None,
    )


CHECKS = (failure, graph_breaks, recompiles, resets, no_code, caches)
