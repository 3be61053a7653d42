"""Rewrites the texts of a run so that it can be shared: paths, names, source lines, strings and
environment variables become stand-ins, always the same one for the same word.

The run is then read again from these texts, so that no page shows anything derived from the
original texts, and links still work.
"""

import io
import json
import re
import tokenize
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.formats.secrets import scrub
from inductorscope.formats.sizes import MIB
from inductorscope.formats.unpacking import DamagedError, open_plain
from inductorscope.formats.vocabulary import SOURCE
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.tables.models import Artifact, Run

GONE = "(redacted)"
PACKED = (".gz", ".xz", ".zst", ".bz2")
PATH, USER, HOST, WORD, LITERAL = "path", "user name", "host name", "chosen word", "literal"
STAND_INS = {PATH: "/p", USER: "user", HOST: "host", WORD: "word", LITERAL: "literal"}
LINE, VALUE = "source line", "environment value"
LEAST_NAME = 3
LEAST_LINE = 8
"""Source lines from this length on are removed wherever they occur alone on a line."""
LEAST_LITERAL = 20
"""Strings from this length on are removed wherever they occur in quotes; torch uses shorter ones as
names."""

_LIBRARY = (
    r"(?:site-packages|dist-packages|lib/python3[.\d]{0,5}|torchinductor_[\w-]{1,60}"
    r"|torch/(?:_|fx/|nn/|utils/|distributed/|testing/))"
)
_KEPT_PART = re.compile(rf"/(?={_LIBRARY})")
_IN_LIBRARY = re.compile(rf"(?:^|/){_LIBRARY}|^_(?:dynamo|inductor|functorch)/|^nn/|^<")
_PATH = re.compile(r"(?<![\w./:~$<*-])(?:file://)?(~?(?:/[\w.@+,=%~-]{1,200}){2,60})")
_QUOTED_PATH = re.compile(r"(?<=[\"'])(/[^\"'\n/]{1,200}(?:/[^\"'\n/]{1,200}){1,60})(?=[\"'])")
_WHOLE_PATH = re.compile(r"\A(?=/[^\n]+/[^\n])(/[^\n]++)\Z")
_USER = re.compile(
    r"(?:/(?:home|Users)/|/torchinductor_|\"?(?:USER|LOGNAME|USERNAME)\"?'?\]?[=:] ?[\"']?)"
    r"([\w.-]{1,60})"
)
_HOST = re.compile(r"\b(?:HOSTNAME|host_?name|host)\"?'?\]?[=:] ?[\"']?([\w.-]{1,100})", re.I)
_NO_NAMES = frozenset(
    ("root", "user", "users", "name", "host", "localhost", "none", "null", "true", "false", "self")
)
_ENVIRON = re.compile(r"(os\.environ\[['\"]\w{1,200}['\"]\] = )('[^\n]{0,4000}'|\"[^\n]{0,4000}\")")
_ENV = re.compile(r'"(?:env|environment|environ)":\s{0,9}\{[^{}]{0,100000}\}')
_ENV_VALUE = re.compile(r'(":\s{0,9})("(?:[^"\\]|\\.){0,4000}")')
_LOG_HEAD = r"(?:[VIWEC]\d{4} [^\]\n]{1,200}\](?: \[[^\]\n]{1,60}\]){0,5} )?"
_ASSIGNED = re.compile(
    rf"(?m)^({_LOG_HEAD}[ \t]{{0,20}}(?:(?:export|set|declare -x) )?"
    r"(?:[A-Z_][A-Z0-9_]{2,100}|[a-z]{2,9}_proxy)=)"
    r"(?![=\s]|[^\n]{1,400}, \w{1,99}=)([^\n]{1,4000})$"
)
_DUMP = re.compile(r"(\b(?:environb?|Namespace)\()([^\n]{1,100000})")
_PAIR = re.compile(
    r"""(\b\w{1,100}=|['"]: b?)"""
    r"""('(?:[^'\\\n]|\\.){0,4000}'|"(?:[^"\\\n]|\\.){0,4000}"|[\w.+-]{1,100})"""
)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"?')  # also without a closing quote, in plain text
_LITERALS = (tokenize.STRING, tokenize.COMMENT, tokenize.NUMBER)
_PREFIXES = "bBfFrRtTuU"
_INTERNED = re.compile(r'\{"str": ?\["((?:[^"\\]|\\.){1,1000})", ?(\d{1,9})\]\}')
_LOC = re.compile(
    r'("filename": ?(\d{1,9}|"(?:[^"\\]|\\.){0,1000}")[^{}\[\]]{0,300}?"loc": ?)'
    r'"((?:[^"\\]|\\.){0,4000})"'
)
_FORMS = (
    re.compile(r"(?P<head>File: (?P<path>[^\n]{1,500}?):\d{1,9}(?: in [^,\n]{1,300})?, code: )"
               r"(?P<code>[^\n]{1,4000})"),
    re.compile(r'(?P<head>File "(?P<path>[^"\n]{1,500})", line \d{1,9}[^\n]{0,300}\n'
               rf'{_LOG_HEAD}[ \t]{{1,200}})(?P<code>(?!File ")[^\s][^\n]{{0,4000}})'),
    re.compile(r"(?P<head>starts_line (?P<path>[^\s:]{1,500}):\d{1,9}[^\n]{0,300}\n"
               rf"{_LOG_HEAD}[ \t]{{0,200}})(?P<code>[^\s][^\n]{{0,4000}})"),
    re.compile(r"(?P<head># )(?P<code>[^\n#]{1,1000})(?=  # (?P<path>[^\s:]{1,500}):\d{1,9} in )"),
)  # fmt: skip
"""The ways in which torch's texts quote a source line."""
_COMMON = re.compile(r"(?:import|from|def|class|@|#|return|else|try|with torch|if __name__)\b|\W*$")

NOTE = (
    "Before this file was made, paths were cut to their last parts, and names of users and hosts, "
    "source lines, strings in them and values of the environment were replaced by stand-ins. So a "
    "server reads it as a run with another id than the original's."
)
"""A note in the file about what was redacted."""


@dataclass
class Redactor:
    """Finds what to redact, and assigns stand-ins."""

    keep: list[str] = field(default_factory=list)
    """Names, or ends of paths, of source files whose lines stay, except strings and constants."""
    hide: list[str] = field(default_factory=list)
    """Further words to redact anywhere."""
    known: dict[str, dict[str, str]] = field(default_factory=dict)
    """Kind → word → stand-in."""
    counts: dict[str, int] = field(default_factory=lambda: {LINE: 0, VALUE: 0})
    left_out: list[str] = field(default_factory=list)
    """Files left out because they are not text."""
    _lines: set[str] = field(default_factory=set)
    _names: re.Pattern[str] | None = None

    def __post_init__(self) -> None:
        for word in self.hide:
            self._stand_in(WORD, word.lower())
        self._string = lru_cache(100_000)(self._redacted_string)

    def learn(self, text: str, path: str, *, is_source: bool) -> None:
        """Collects names, and source lines that other texts may quote."""
        for kind, pattern in ((USER, _USER), (HOST, _HOST)):
            for name in pattern.findall(text):
                if len(name) >= LEAST_NAME and name.lower() not in _NO_NAMES:
                    self._stand_in(kind, name.lower())
        if is_source and self._shown(path):
            self._code(text)
        elif is_source:
            lines = (line for line in map(str.strip, text.split("\n")) if len(line) >= LEAST_LINE)
            self._lines.update(line for line in lines if not _COMMON.match(line))
        self._names = None

    def redact(self, text: str, path: str, *, is_source: bool) -> str:
        """Returns the text with stand-ins."""
        if is_source:
            return self._text(self._code(text) if self._shown(path) else self._blank(text))
        text = _ENVIRON.sub(self._value, text)
        text = _ENV.sub(lambda match: _ENV_VALUE.sub(self._value, match[0]), text)
        interned = {int(at): _unescaped(name) for name, at in _INTERNED.findall(text)}

        def loc(match: re.Match[str]) -> str:
            name = match[2]
            path = _unescaped(name[1:-1]) if name[0] == '"' else interned.get(int(name), "")
            return match[1] + json.dumps(self._quoted(path, _unescaped(match[3])))

        text = _LOC.sub(loc, text)
        if text[:1] in "{[":
            return self._json(text)
        done: list[str] = []  # a log's records are lines
        for is_record, lines in groupby(
            text.split("\n"), lambda line: "{" in line[:200] and line.rstrip().endswith("}")
        ):
            if is_record:
                done += map(self._json, lines)
            else:
                done.append(self._text("\n".join(lines)))
        return "\n".join(done)

    def named(self, text: str) -> str:
        """Returns the text with stand-ins only for names and chosen words."""
        known = ChainMap(*(self.known.get(kind, {}) for kind in (WORD, HOST, USER)))
        if self._names is None:
            words = self.known.get(WORD, {})
            parts = [*map(re.escape, words)]
            parts += [
                rf"(?<![^\W_]){re.escape(name)}(?![^\W_])" for name in known if name not in words
            ]
            self._names = re.compile("|".join(parts) or r"(?!)", re.I)
        # Some letters ignore case and yet have another lower-case letter: ſ and s.
        return self._names.sub(lambda match: known.get(match[0].lower(), GONE), text)

    def _stand_in(self, kind: str, word: str) -> str:
        known = self.known.setdefault(kind, {})
        return known.setdefault(word, f"{STAND_INS[kind]}{len(known) + 1}")

    def _shown(self, path: str) -> bool:
        """Whether the lines of a file stay."""
        return bool(_IN_LIBRARY.search(path)) or any(
            f"/{path}".endswith(f"/{pattern.lstrip('/')}") for pattern in self.keep
        )

    def _json(self, text: str) -> str:
        return _STRING.sub(lambda match: self._string(match[0]), text)

    def _redacted_string(self, written: str) -> str:
        try:
            plain = json.loads(written, strict=False)
        except ValueError:
            return self._text(written)
        redacted = self._json(plain) if plain[:1] in ("{", "[") else self._text(plain)
        redacted = _WHOLE_PATH.sub(self._path, redacted)
        return written if redacted == plain else json.dumps(redacted)

    def _text(self, text: str) -> str:
        text = _ASSIGNED.sub(self._value, text)
        text = _DUMP.sub(lambda dump: dump[1] + _PAIR.sub(self._value, dump[2]), text)
        for form in _FORMS:
            text = form.sub(lambda at: at["head"] + self._quoted(at["path"], at["code"]), text)
        for pattern in (_QUOTED_PATH, _PATH):
            text = pattern.sub(self._path, text)
        if self._lines:
            text = "\n".join(map(self._line, text.split("\n")))
        for word, stand_in in self.known.get(LITERAL, {}).items():
            if len(word) >= LEAST_LITERAL:
                text = text.replace(word, stand_in)
        return self.named(text)

    def _line(self, line: str) -> str:
        plain = line.strip()
        if plain not in self._lines:
            return line
        self.counts[LINE] += 1
        return line.replace(plain, GONE)

    def _quoted(self, path: str, code: str) -> str:
        """Replaces a source line that another text quotes."""
        if self._shown(path):
            return code if _IN_LIBRARY.search(path) else self._code(code)
        self.counts[LINE] += code != GONE
        return GONE

    def _blank(self, text: str) -> str:
        lines = text.split("\n")
        self.counts[LINE] += sum(bool(line.strip()) for line in lines)
        return "\n".join(GONE if line.strip() else "" for line in lines)

    def _code(self, text: str) -> str:
        """Returns source without strings, comments and numbers."""
        lines = io.StringIO(text).readlines()  # `splitlines` splits at more characters
        found: list[tokenize.TokenInfo] = []
        try:
            for token in _tokens(text):
                if token.type == tokenize.ERRORTOKEN and token.string.strip():
                    return self._blank(text)
                if token.type in _LITERALS and token.string not in ("0", "1", "2"):
                    found.append(token)
        except (tokenize.TokenError, SyntaxError, UnicodeEncodeError) as error:
            if "statement" not in str(error):
                return self._blank(text)
        for _, string, (row, column), (last, end), _ in reversed(found):
            literal = string.lstrip(_PREFIXES)
            stand_in = self._stand_in(LITERAL, literal.strip("\"'"))
            if literal[0] in "\"'":
                stand_in = f'"{stand_in}"'
            elif literal[0] == "#":
                stand_in = f"# {stand_in}"
            after = lines[last - 1][end:]
            lines[row - 1] = lines[row - 1][:column] + stand_in + "\n" * (last - row) + after
            lines[row:last] = [""] * (last - row)
        return "".join(lines)

    def _path(self, match: re.Match[str]) -> str:
        """Replaces a path's folder with a stand-in; names of library files stay."""
        path = match[1]
        if re.match(r"/p\d+/", path):
            return match[0]
        part = _KEPT_PART.search(path)
        cut = part.start() if part else path.rstrip("/").rfind("/")
        return (self._stand_in(PATH, path[:cut]) if cut > 0 else "") + path[cut:]

    def _value(self, match: re.Match[str]) -> str:
        """Replaces a value of the environment or of arguments, in its quotes."""
        self.counts[VALUE] += 1
        quote = match[2][0] if match[2][0] in "\"'" else ""
        return f"{match[1]}{quote}{GONE}{quote}"


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yields tokens. An f-string is one token, though Python splits it from 3.12 on."""
    parts: list[tokenize.TokenInfo] = []
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            depth += name.endswith("STRING_START") - name.endswith("STRING_END")
            parts.append(token)
            if not depth:
                kind = tokenize.STRING if len(parts) > 1 else token.type
                string = "".join(part.string for part in parts)
                yield token._replace(type=kind, string=string, start=parts[0].start)
                parts = []
    except tokenize.TokenError as error:
        raise SyntaxError("a string without its end") if depth else error from None


def _unescaped(written: str) -> str:
    """Returns the value of a JSON string; a damaged one is returned unchanged."""
    try:
        return str(json.loads(f'"{written}"', strict=False))
    except ValueError:
        return written


def write_redacted(session: Session, runs: Mapping[Path, Run], redactor: Redactor) -> None:
    """Writes the redacted files of each run below a folder. Files that are not text are left
    out."""
    for run in runs.values():
        for path, is_source, text in _texts(session, run):
            if text is None:
                redactor.left_out += [path] * (path not in redactor.left_out)
            else:
                redactor.learn(text, path, is_source=is_source)
    for into, run in runs.items():
        for path, is_source, text in _texts(session, run):
            if text is not None:
                packed = next((end for end in PACKED if path.endswith(end)), "")
                target = into / redactor.named(path.removesuffix(packed))
                target.parent.mkdir(parents=True, exist_ok=True)
                redacted = redactor.redact(text, path, is_source=is_source)
                target.write_bytes(redacted.encode("utf-8", "surrogateescape"))


def _texts(session: Session, run: Run) -> Iterator[tuple[str, bool, str | None]]:
    """Yields the path of each stored file of a run, whether it is source, and its unpacked text;
    None if it is not text."""
    rows = select(Artifact.path, Artifact.digest).where(Artifact.run_id == run.id)
    digests = dict(session.execute(rows).all())
    for file in run.report.files:
        if digest := digests.get(file.stored or ""):
            yield file.path, file.role == SOURCE, _plain(session, digest)


def _plain(session: Session, digest: str) -> str | None:
    stored = stored_text(session, digest)
    if stored is None:
        return None
    pieces, stream = [], open_plain(io.BytesIO(stored.read()))
    with suppress(DamagedError):  # return what comes before the damage
        while piece := stream.read(MIB):
            if b"\0" in piece:
                return None
            pieces.append(piece)
    clean, _ = scrub(b"".join(pieces))  # runs that an earlier version read still hold some
    return clean.decode("utf-8", "surrogateescape")
