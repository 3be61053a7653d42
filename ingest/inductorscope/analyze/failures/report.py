"""The Markdown report of a failure for an issue, for readers without the dashboard."""

import msgspec

from inductorscope.markdown.text import block, code, prose

LONGEST_BLOCK = 12_000
"""Longest block in characters; issue trackers refuse much longer texts."""


class ReportParts(msgspec.Struct, frozen=True):
    """Contents of the report; empty parts are left out."""

    name: str
    torch: str = ""
    torch_git: str = ""
    device: str = ""
    python: str = ""
    title: str = ""
    sentences: list[str] = msgspec.field(default_factory=list)
    cause: str = ""
    sure: bool = False
    kernel: str = ""
    """Name of the kernel that is shown."""
    code: str = ""
    chain: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """Steps from the program to the kernel: what each is, and its text."""
    error: str = ""
    components: str = ""
    first_wrong: str = ""
    minified: str = ""
    """How far the program was minified, in words."""
    repro: str = ""
    permalink: str = ""


def issue_markdown(parts: ReportParts) -> str:
    lines = [f"### {prose(parts.title) or f'torch.compile: {code(parts.name)}'}", ""]
    lines += [*map(prose, parts.sentences), ""] if parts.sentences else []
    if parts.cause:
        lines += [f"The cause is {'' if parts.sure else 'probably '}{code(parts.cause)}.", ""]
    versions = [
        (
            "torch",
            f"{parts.torch} {f'({parts.torch_git[:12]})' if parts.torch_git else ''}".strip(),
        ),
        ("device", parts.device),
        ("python", parts.python),
        ("program", parts.name),
    ]
    lines += [f"- {name}: {code(value)}" for name, value in versions if value] + [""]
    if parts.repro:
        head = (
            f"### Minimal program\n\n{prose(parts.minified)}\n"
            if parts.minified
            else "### Minimal program\n"
        )
        lines += [head, _block(parts.repro, "python"), ""]
    if parts.code:
        lines += [f"### Kernel {code(parts.kernel)}", "", _block(parts.code, "cpp"), ""]
    if parts.chain:
        steps = (
            f"{at}. {prose(step)}: {code(text)}" for at, (step, text) in enumerate(parts.chain, 1)
        )
        lines += ["From the program to the kernel:", "", *steps, ""]
    if parts.error:
        lines += ["### Error", "", _block(parts.error, ""), ""]
    results = [
        ("Which component", parts.components),
        ("First wrong number", parts.first_wrong),
    ]
    lines += [f"**{name}**: {prose(value)}\n" for name, value in results if value]
    if parts.permalink:
        lines += [f"Recorded with Inductorscope: {parts.permalink}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _block(text: str, language: str) -> str:
    cut = text[:LONGEST_BLOCK].rstrip("\n")
    return block(cut + "\n… (cut)" if len(text) > LONGEST_BLOCK else cut, language)
