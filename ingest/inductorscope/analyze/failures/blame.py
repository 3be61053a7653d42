"""Decides whose fault a failure is: the machine's, the program's, torch's, or nobody's, because
torch says that it does not support the program."""

import re
from collections.abc import Collection
from typing import NamedTuple

from inductorscope.analyze.compile.advice import advice_for_break
from inductorscope.analyze.compile.model import GraphBreak
from inductorscope.analyze.failures.environment import Fix
from inductorscope.analyze.failures.fold import users_frame
from inductorscope.analyze.failures.text import Explained, Fault
from inductorscope.fields import view
from inductorscope.formats.capture_facts import EagerOutcome
from inductorscope.formats.errors.tracebacks import read_traceback
from inductorscope.formats.log.graph_breaks import read_graph_break

LONGEST = 400
MOST_ADVICE = 3

_NO_FAKE = re.compile(
    r"no fake impl(?:ementation)? registered for <CustomOpDef\(([\w:.]{1,200})\)>"
    r"|(?P<op>[\w:.]{1,200}): attempted to run this operator with Meta tensors"
    r"|Operator does not support running with fake tensors[^\n]{0,80}|unsupported operator: "
    r"(?P<packet>[\w.:]{1,200})"
)
_RAISED = re.compile(r"(\w{1,80})\(['\"](.{1,400}?)['\"]\)")
_HANG = re.compile(r"The ranks run different collectives: ")
_LIMIT = re.compile(r"FailOnRecompileLimitHit|hit config\.(?:recompile|cache_size)_limit")
# `Note:` and the like are no advice; neither is how to make torch say more or say nothing.
_ADVISES = re.compile(
    r"\b(?:please|consider|try|use|using|set|call|enable|disable|wrap|register|clone|remove|see|"
    r"insert|add|pass|marked|mark)\b", re.I,
)  # fmt: skip
_NAMES = re.compile(
    r"torch\.\w|torch\._|mark_dynamic|as dynamic|fullgraph|dynamic=|create_graph|\.clone\("
)
_BOILERPLATE = re.compile(
    r"TORCHDYNAMO_VERBOSE|TORCH_LOGS|TORCHINDUCTOR_|suppress_errors|suppress this exception"
    r"|graph-break-site|minif|report|file an issue|github\.com|real code tracing|user code at"
    r"|internal stack trace|import torch\b|set_stance|removing the `torch\.compile` call"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\d(`])|\n+")


class _Remedy(NamedTuple):
    """What to do where torch's own words say too little."""

    said: str
    """Part of torch's message."""
    title: str
    why: str
    do: str
    fault: Fault


_REMEDIES = (
    _Remedy(
        "device-side assert triggered",
        "A kernel found an index that is out of range",
        "Such as a label that is no class, or a token that is no row of its table. The device "
        "tells it at a later call, so the line of the exception may be innocent.",
        "Run it with `CUDA_LAUNCH_BLOCKING=1`, or its first failing batch on the processor: the "
        "exception then comes from the operator. Compare its indices' `.min()` and `.max()` with "
        "the size that it indexes.",
        "program",
    ),
    _Remedy(
        "output of CUDAGraphs that has been overwritten",
        "A result of a CUDA graph is read after a later call wrote over it",
        "Each call of the graph writes to the same memory.",
        "Keep a copy of each result that must outlive the next call: `.clone()`. Modes without "
        "CUDA graphs need none.",
        "program",
    ),
    _Remedy(
        "does not currently support double backward",
        "A gradient of a gradient goes through compiled code",
        "torch.compile has no second backward pass, as `create_graph=True` needs it.",
        "Call the plain module, not the compiled one, where `torch.autograd.grad(…, "
        "create_graph=True)` follows, such as for a gradient penalty; the compiled one elsewhere.",
        "unsupported",
    ),
)
STANCE = "`torch.compiler.set_stance('force_eager')`"
_WORKAROUND = (
    "Until torch is fixed, keep this line's function uncompiled: `@torch.compiler.disable`."
)


def judge(failure: Explained, eager: EagerOutcome | None, sources: Collection[str] = ()) -> None:
    """Sets whose fault it is, and the fix. `eager` is None if the program was not run without
    torch.compile."""
    if failure.fix is not None:
        failure.fault = "machine"
    elif not (
        _known(failure) or _unsupported(failure, fails=eager is not None and bool(eager.error))
    ):
        _name_dry_run(failure)
        if eager is not None and eager.error is not None:
            _of_program(failure, eager, sources)
        elif failure.component in ("program", "memory", "unknown"):
            failure.fault = "program" if failure.component == "program" else "unknown"
            failure.fix = (
                Fix("", " ".join(said)) if (said := torch_advice(failure.message)) else None
            )
        elif advice := torch_advice(failure.message):
            failure.fault, failure.fix = "unsupported", Fix("", " ".join(advice))
        elif failure.component == "backend":
            failure.fix = Fix("", "Compile with another backend until this one is fixed.")
        elif eager is not None and eager.passed:
            failure.fault, failure.fix = "torch", Fix("", _WORKAROUND)
            failure.sentences.append("The same program ran past this place without torch.compile.")
        else:
            failure.fix = _unseen("" if eager is None else eager.unknown)


def _known(failure: Explained) -> bool:
    """Handles failures whose remedy torch names only in part."""
    text = failure.message
    if missing := _NO_FAKE.search(text):
        name = missing[1] or missing["op"] or missing["packet"] or ""
        name = name.removesuffix(".default").replace(".", "::")
        what = f"`{name}`" if name else "A custom operator"
        failure.title = f"{what} has no fake implementation"
        failure.sentences = [
            "torch.compile needs one to learn the shape and dtype of the operator's result without "
            "running it."
        ]
        failure.fix = Fix(
            "", f"Register one: `@torch.library.register_fake('{name or '…'}')` above a function "
            "with the operator's arguments that returns an empty tensor of the result's shape, "
            "dtype and device, such as `torch.empty_like(x)`.",
        )  # fmt: skip
    elif _HANG.match(text):
        failure.sentences = ["The others wait for it for ever: the job hangs."]
        failure.fix = Fix(
            "", "Make every rank take the same path: a branch on the rank or on its own data must "
            "not contain a collective. The page Ranks shows where they differ.",
        )  # fmt: skip
        failure.fault = "program"
        return True
    elif remedy := next((row for row in _REMEDIES if row.said in text), None):
        failure.title, failure.sentences = remedy.title, [remedy.why]
        failure.fix, failure.fault = Fix("", remedy.do), remedy.fault
        return True
    elif _LIMIT.search(" ".join([*failure.kinds, text])):
        failure.title = "The recompile limit is reached, and `fullgraph=True` forbids to go on"
        failure.fix = Fix(
            "", "Remove the reason to recompile, which the page Compiling shows, or raise "
            "`torch._dynamo.config.recompile_limit`.",
        )  # fmt: skip
    else:
        return False
    failure.fault = "unsupported"
    return True


def _name_dry_run(failure: Explained) -> None:
    """Names the error of an operator on fake tensors, by which torch.compile learns shapes."""
    run = failure.message.partition("with fake tensors: ")[2].partition("\n")[0]
    got = _RAISED.match(run.rpartition(": got ")[2])
    if got is not None:
        failure.title = "An operator fails when torch.compile learns its result's shape"
        failure.sentences = [f"{got[1]}: {got[2].rstrip('.')}."]


def _unsupported(failure: Explained, *, fails: bool) -> bool:
    """Handles what Dynamo says that it cannot trace. Where the program `fails` in eager, its own
    exception is no such thing."""
    kind = failure.kinds[0].rpartition(".")[2] if failure.kinds else ""
    said = read_graph_break(f"Reason: {failure.message}")
    if kind != "Unsupported" or (fails and said.title == "Observed exception"):
        return False
    code = failure.user.code if failure.user is not None else ""
    failure.fault = "unsupported"
    failure.title = f"Dynamo cannot trace this line: {said.title[:1].lower()}{said.title[1:]}"
    first = said.explanation.partition("\n")[0]
    failure.sentences = [first] if first else []
    broken = view(GraphBreak, said, compile=-1, log=-1, line=0, file=None, at=None)
    advice = advice_for_break(broken, code)
    frames = (at for error in failure.chain for fold in error.folds for at in fold.frames)
    if any("/export/" in at.file for at in frames):
        instead = "" if advice else "Export has no graph breaks: write it in another way."
    else:
        instead = "Without `fullgraph=True`, Dynamo breaks the graph here and the program runs."
    failure.fix = Fix("", " ".join(filter(None, (advice, instead))))
    return True


def _of_program(failure: Explained, eager: EagerOutcome, sources: Collection[str]) -> None:
    """Handles a program that fails alike without torch.compile."""
    error = eager.error
    assert error is not None
    chain = read_traceback(error.trace)
    failure.user = users_frame(chain, sources) or failure.user
    said = f"{error.kind.rpartition('.')[2]}: {error.message}".removeprefix(": ")
    failure.fault, failure.component = "program", "program"
    failure.title = "The program fails without torch.compile too"
    failure.sentences = [f"{said.partition(chr(10))[0][:LONGEST].rstrip('.')}."]
    failure.fix = Fix(
        "", f"Correct the program. {STANCE} at its start shows the error without torch.compile."
    )
    if "_orig_mod." in error.message:
        failure.title = "Names in the state of a compiled model begin with `_orig_mod.`"
        failure.fix = Fix("", "Save `model._orig_mod.state_dict()`, or keep the plain model.")


def _unseen(why: str) -> Fix:
    run = f"Run it with {STANCE} at its start: if it fails there too, correct the program."
    seen = f"Whether the program works without torch.compile was not seen{': ' if why else '. '}"
    return Fix("", f"{seen}{f'{why} ' if why else ''}{run} Otherwise, {_WORKAROUND[0].lower()}"
               f"{_WORKAROUND[1:]}")  # fmt: skip


def torch_advice(message: str) -> list[str]:
    """Returns the sentences of an error that say what to write."""
    advice = []
    for sentence in _SENTENCE.split(message[:20_000]):
        text = " ".join(sentence.split()).lstrip("-* ")
        if (
            len(text) <= LONGEST
            and _NAMES.search(text)
            and _ADVISES.search(text)
            and not _BOILERPLATE.search(text)
            and not text.startswith('File "')
        ):
            advice.append(text if text.endswith((".", "!")) else f"{text}.")
    return list(dict.fromkeys(advice))[:MOST_ADVICE]
