"""Messages of C++ compilers and linkers: g++, clang, and torch's error around them.

    CppCompileError: C++ compile error
    Command:
    g++ /tmp/torchinductor_root/iq/ciqoo.cpp -shared …
    Output:
    /tmp/torchinductor_root/xg/cxga5.cpp: In function ‘void kernel(const unsigned char*)’:
    /tmp/torchinductor_root/xg/cxga5.cpp:17:57: error: no matching function for call to ‘f(int&)’
       17 |                 auto tmp3 = f(tmp0);
          |                             ~^~~~~~
    collect2: error: ld returned 1 exit status

Old compilers and clang quote the line without a number before it.
"""

from __future__ import annotations

import re

import msgspec

LONGEST = 1_000_000
"""Most characters read of one text."""
MOST = 500
"""Most diagnostics kept, because a failing template can produce thousands of notes."""

_PLACED = re.compile(
    r"^\s*((?:[A-Za-z]:\\)?[^\s:][^:\n]{0,1000}):(\d{1,9}):(?:(\d{1,9}):)? "
    r"(fatal error|error|warning|note|remark): ?(.*)$"
)
_WITHIN = re.compile(
    r"^\s*((?:[A-Za-z]:\\)?[^\s:][^:\n]{0,1000}): (?:In|At) "
    r"(?:(?:static )?member function|(?:copy )?constructor|destructor|function|lambda function"
    r"|instantiation of|substitution of|global scope)(.*?):?$"
)
_TOOL = re.compile(
    r"^\s*((?:\S*[/\\])?(?:collect2|(?:\w+-)*(?:ld|g\+\+|gcc|c\+\+|clang(?:\+\+)?|cc1plus|as|nvcc)"
    r"(?:-[\d.]+|\.\w+)?)): ?(?:(fatal error|error|warning): ?)?(.*)$"
)
_SHELL = re.compile(
    r"^\s*(?:/bin/)?(?:ba|da|z)?sh: (?:line )?\d+: (\S+): (not found|command not .*)$"
)
_NUMBERED = re.compile(r"^ ?\s*(\d{1,9}) \| ?(.*)$")
_UNDER = re.compile(r"^\s*\| ?(.*)$")
_MARKS = re.compile(r"^[ \t]*+(?:(?=[~|+\- ]*\^)[~^|+\- ]++|~++[ \t]*+)$")
_COMMAND = re.compile(r"^\s*Command:\s*$")


class Diagnostic(msgspec.Struct):
    """One message of a compiler or linker, with the notes that follow it."""

    severity: str
    message: str
    line: int
    """Line of the text, from 1."""
    file: str = ""
    """Empty if no file is named."""
    at: int | None = None
    column: int | None = None
    """Counted from 1."""
    function: str = ""
    """The signature of the function it is in, as the compiler writes it."""
    code: str = ""
    """The line of code it quotes."""
    marks: str = ""
    """The marks below that line: `~~~~^~~`."""
    tool: str = ""
    """The program, if it is not the compiler: `collect2`, `ld`."""
    notes: list[Diagnostic] = msgspec.field(default_factory=list)

    @property
    def is_error(self) -> bool:
        return self.severity in ("error", "fatal error")


class CompilerOutput(msgspec.Struct):
    """The diagnostics of one text."""

    command: str = ""
    diagnostics: list[Diagnostic] = msgspec.field(default_factory=list)
    left_out: int = 0
    """Number of diagnostics not kept."""

    def errors(self) -> list[Diagnostic]:
        return [diagnostic for diagnostic in self.diagnostics if diagnostic.is_error]


def read_compiler_output(text: str) -> CompilerOutput:
    """Returns every diagnostic in the text; skips everything else."""
    reader = _Reader()
    for number, line in enumerate(text[:LONGEST].split("\n"), 1):
        reader.line(number, line.rstrip("\r"))
    return reader.output


class _Reader:
    def __init__(self) -> None:
        self.output = CompilerOutput()
        self.functions: dict[str, str] = {}
        self.last: Diagnostic | None = None
        self.awaits_command = False
        self.seen: set[tuple[str, int | None, int | None, str]] = set()

    def line(self, number: int, line: str) -> None:
        if self.awaits_command and line.strip():
            self.output.command, self.awaits_command = line.strip(), False
        elif _COMMAND.match(line):
            self.awaits_command = not self.output.command
        elif placed := _PLACED.match(line):
            file, at, column, severity, message = placed.groups()
            self._add(
                Diagnostic(
                    severity=severity, message=message, line=number, file=file, at=int(at),
                    column=int(column) if column else None, function=self.functions.get(file, ""),
                )
            )  # fmt: skip
        elif within := _WITHIN.match(line):
            self.functions[within.group(1)] = within.group(2).strip(" ‘’'“”\"")
        elif self._quoted(line):
            pass
        elif shell := _SHELL.match(line):
            message = f"{shell.group(1)}: {shell.group(2)}"
            self._add(Diagnostic("fatal error", message, number, tool=shell.group(1)))
        elif (tool := _TOOL.match(line)) and (
            tool.group(2) or tool.group(3).startswith(("cannot ", "undef"))
        ):
            name = tool.group(1).replace("\\", "/").rpartition("/")[2]
            self._add(Diagnostic(tool.group(2) or "error", tool.group(3), number, tool=name))

    def _add(self, diagnostic: Diagnostic) -> None:
        self.last = diagnostic
        if diagnostic.severity == "note" and self.output.diagnostics:
            notes = self.output.diagnostics[-1].notes
            if len(notes) < MOST:
                notes.append(diagnostic)
            else:
                self.output.left_out += 1
            return
        key = (
            diagnostic.file or diagnostic.tool,
            diagnostic.at,
            diagnostic.column,
            diagnostic.message,
        )
        if key in self.seen or len(self.output.diagnostics) >= MOST:
            # torch repeats the message in the exception that it raises
            self.output.left_out += key not in self.seen
            return
        self.seen.add(key)
        self.output.diagnostics.append(diagnostic)

    def _quoted(self, line: str) -> bool:
        """Reads the line of code under a diagnostic, and the marks below it."""
        last = self.last
        if last is None or not last.file:
            return False
        numbered = _NUMBERED.match(line)
        if numbered is not None:
            if int(numbered.group(1)) == last.at and not last.code:
                last.code = numbered.group(2)
            return True
        under = _UNDER.match(line)
        if under is not None:
            if last.code and not last.marks and "^" in under.group(1):
                last.marks = under.group(1).rstrip()
            return True
        if last.code and not last.marks and _MARKS.match(line):
            last.marks = line.rstrip()
            return True
        plain = line[:1] in (" ", "\t") and bool(line.strip()) and " from " not in line[:40]
        if plain and not last.code and not _WITHIN.match(line):
            last.code = line
            return True
        return False
