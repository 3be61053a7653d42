"""Turns a graph's parsed code into rows of kernels and calls."""

import base64
import hashlib

from inductorscope.fields import view
from inductorscope.formats.code.kernel_facts import category_by_name
from inductorscope.formats.code.output_code import CodeKernel, OutputCode
from inductorscope.formats.code.subgraphs import calls_as_run
from inductorscope.formats.machine.metadata import SOURCE_HASH, source_hash
from inductorscope.formats.vocabulary import EXTERN
from inductorscope.reading.notes import Notes
from inductorscope.store.runs.draft import CallDraft, KernelDraft

LONGEST_NAME = 600
ELSEWHERE = (
    "a kernel whose code is in another file, which is not in the upload: only its calls are shown"
)
PERMALINK_LENGTH = 12


def permalink(code_digest: str, kernel: str, handle: int) -> str:
    """Returns a call's id, derived from content: the same code gives the same link on every
    server."""
    name = hashlib.sha256(f"{code_digest}:{kernel}:{handle}".encode("utf-8", "replace")).digest()
    return base64.b32encode(name).decode().lower()[:PERMALINK_LENGTH]


def kernel_drafts(
    code: OutputCode,
    lines: list[str],
    nodes: dict[tuple[str, int], list[str]],
    digest: str,
    label: str,
    notes: Notes,
) -> list[KernelDraft]:
    """Generated kernels in the order of the code, then extern ones in the order of their calls.

    `lines`: the code's lines; `nodes`: the FX nodes of each call; `digest`: the code's digest.
    """
    drafts: dict[str, KernelDraft] = {}
    for kernel in code.kernels:
        if len(kernel.name) > LONGEST_NAME:
            notes.add(label, f"line {kernel.first_line}: a kernel's name is too long")
        elif kernel.name in drafts:
            notes.add(label, f"line {kernel.first_line}: {kernel.name} is defined a second time")
        else:
            drafts[kernel.name] = _defined(kernel, lines)
    runs_at: dict[tuple[str, int], list[int]] = {}
    for at, call in enumerate(calls_as_run(code)):
        runs_at.setdefault((call.kernel, call.handle), []).append(at)
    for call in code.calls:
        if len(call.kernel) > LONGEST_NAME:
            notes.add(label, f"line {call.line}: a kernel's name is too long")
            continue
        draft = drafts.get(call.kernel)
        if draft is None:
            elsewhere = None if call.extern else category_by_name(call.kernel)
            if elsewhere is not None:
                notes.add(label, ELSEWHERE, line=call.line, example=call.kernel)
            draft = drafts[call.kernel] = KernelDraft(
                call.kernel,
                "extern",
                elsewhere or EXTERN,
                None,
                None,
                facts={},
                digest=None if elsewhere else _digest(call.kernel),
            )
        draft.calls.append(
            view(
                CallDraft,
                call,
                fx_nodes=nodes.get((call.kernel, call.handle), []),
                permalink=permalink(digest, call.kernel, call.handle),
                runs_at=runs_at.get((call.kernel, call.handle), []),
            )
        )
    return list(drafts.values())


def _defined(kernel: CodeKernel, lines: list[str]) -> KernelDraft:
    facts = dict(kernel.facts)
    definition = "\n".join(lines[kernel.first_line - 1 : kernel.last_line])
    if "triton" in kernel.category or kernel.kind == "cpp":
        facts[SOURCE_HASH] = source_hash(definition)
    if kernel.kernel_path:
        facts["kernel_path"] = kernel.kernel_path
    if kernel.source_nodes:
        facts["source_nodes"] = kernel.source_nodes
    return view(
        KernelDraft,
        kernel,
        first_line=kernel.comment_line or kernel.first_line,
        facts=facts,
        digest=_digest(definition),
    )


def _digest(text: str) -> int:
    """Returns a digest that fits a database's integer."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
