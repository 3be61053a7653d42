"""What code in the playground may try to reach, and how the kernel must answer."""

from pathlib import Path

Escape = tuple[str, str, str]
"""What it reaches for, an expression or statement that does so, and words of the errors."""


def escapes(data: Path, pid: int, kernels: str) -> list[Escape]:
    """`data`: a folder with a database. `pid`: a process of the server. `kernels`: a folder that
    tries may only read."""
    return [
        ("database", f"open({str(data / 'inductorscope.db')!r}).read()", "NotFound"),
        ("other files", f"open({__file__!r}).read()", "NotFound"),
        ("write to the system", "open('/usr/lib/x', 'w')", "Read-only|Permission"),
        ("write to torch", "open(torch.__file__, 'a')", "Read-only|Permission"),
        ("write to kernels", f"open('{kernels}/x', 'w')", "Read-only|NotFound"),
        ("socket", "__import__('socket').create_connection(('127.0.0.1', 80))", "Permission"),
        ("unix socket", "__import__('socket').socket(1, 1)", "Permission"),
        ("end the warm process", f"__import__('os').kill({pid}, 9)", "ProcessLookup"),
        ("end the parent", "__import__('os').kill(__import__('os').getppid() or 2, 9)",
         "ProcessLookup"),
        ("user namespace", "assert __import__('ctypes').CDLL(None).unshare(1 << 28) == 0",
         "Assertion"),
        ("memory", "bytearray(1 << 34)", "Memory"),
    ]  # fmt: skip


def as_code(tried: list[Escape]) -> str:
    """Returns statements that try each, and print a line about it."""
    return "".join(
        f"try:\n    {code}\n    print('escaped')\nexcept Exception as e:\n    print(repr(e))\n"
        for _, code, _ in tried
    )


def succeeded(tried: list[Escape], printed: str) -> list[tuple[str, str]]:
    """Returns what was not refused as expected, with its line."""
    return [
        (what, line)
        for (what, _, words), line in zip(tried, printed.splitlines(), strict=True)
        if not any(word in line for word in words.split("|"))
    ]
