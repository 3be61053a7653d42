"""The guards that failed and so made torch recompile a frame, from `recompile_reasons`.

0/0: tensor 'x' size mismatch at index 0. expected 4, actual 9
1/0: L['flag'] == 1                                # return y * flag  # models.py:116 in f
["0/1: …", "0/0: …"]          (2025 builds write a list; 2.13 adds the user's stack to each)
"""

import re

import msgspec

MOST = 1000
LONGEST = 2000

_LINE = re.compile(r"^(?:- )?((?:!\d{1,9}/)?\d{1,9}/\d{1,9})(?:_\d{1,9})?: ?(.*)$")
_INDEX = re.compile(
    r"^tensor '([^']{1,500})' (size|stride) mismatch at index (\d{1,6})\. "
    r"expected (-?\d{1,20}), actual (-?\d{1,20})"
)
_TENSOR = re.compile(
    r"^tensor '(.{1,500}?)' ([a-z_ ]{1,60}) mismatch\. +"
    r"expected (?:[a-z_]{1,30}=)?([^,]{1,300}|DispatchKeySet.{1,300}?)"
    r"(?:, (?:but got|actual) (?:[a-z_]{1,30}=)?(.{1,300}))?$"
)
_EQUAL = re.compile(r"^(.{1,1000}?) == (.{1,300}?)$")
_LENGTH = re.compile(r"^len\((.{1,500}?)\) [!=]= (\d{1,12})$")
_GLOBAL = re.compile(r"^GLOBAL_STATE changed: (\S{1,100})")
_IDENTITY = re.compile(
    r"^___check_(obj|type)_id\((.{1,500}?), \d{1,20}\)(?:, type=<class '([^']{1,200})'>)?"
)
_ALIAS = re.compile(r"^(\S{1,300}) is (?:not )?(\S{1,300})$")
_SYMBOLIC = re.compile(r"(?:L\['\w{1,200}'\]|\b\w{1,200})\.size\(\)\[\d{1,6}\]")
_CELL = re.compile(r'HINT: guard on "(\w{1,200})"')
_COMMENT = re.compile(r"\s# ")
_PLACE = re.compile(r"(.{1,500}?:\d{1,9} in [^(]{1,200})(?:\(.*)?")
_SIZE = re.compile(r"\.(size|stride)\(\)\[(\d{1,6})\]$")
_LOCAL = re.compile(r"\bL\['([A-Za-z_][A-Za-z_0-9]{0,200})'\]")
_HELD = re.compile(r"\._(?:modules|parameters|buffers)\['(\w{1,200})'\]")
_HELPER = re.compile(r"\b(?:___|cast_)\w{1,60}\(([^(),\d][^(),]{0,300})(?:, ([^(),]{1,100}))?\)")
"""A function of torch around a value: `___normalize_range_iter(r)`, `___odict_getitem(d, 'k')`."""
_HAS_KEY = re.compile(r"___dict_contains\((.{1,200}), ([^,]{1,300})\)$")
_NAMED = re.compile(r"\bG\['(__builtins_dict___\d{1,9}'\]\['|__import_)?(\w{1,200})'\]")
_INTERNAL = re.compile(r"___|SYNTHETIC_LOCAL|__implicit|random_value_\d|<ephemeral")


class GuardFailure(msgspec.Struct):
    """A guard of an earlier compile that did not hold."""

    earlier: str | None
    """Id of the compile that installed the guard."""
    text: str
    """As torch wrote it, without the place."""
    subject: str
    """What changed, in the program's words: `x.size(0)`, `flag`, `len(args)`."""
    kind: str
    """`size`, `stride`, `value`, `length`, `dtype`, `requires_grad`, …, else `guard`."""
    old: str | None = None
    new: str | None = None
    code: str | None = None
    """The user's line that the guard was made for, if the text has it."""
    place: str | None = None
    """Its file, line and function."""


def read_guard_failures(text: str) -> list[GuardFailure]:
    """One failure for each compile that was tried, the newest first as in the text."""
    lines: list[str] = []
    if text.lstrip().startswith("["):
        try:
            listed = msgspec.json.decode(text.encode("utf-8", "replace"))
        except (msgspec.MsgspecError, RecursionError):
            listed = None
        if isinstance(listed, list):
            lines = [item.partition("\n")[0] for item in listed if isinstance(item, str)]
    if not lines:
        lines = text.split("\n")
    failures: list[GuardFailure] = []
    for line in lines[:MOST]:
        match = _LINE.match(line.strip()[:LONGEST])
        if match is not None:
            failures.append(_failure(match.group(1), match.group(2)))
        elif line.strip() and not failures:
            failures.append(_failure(None, line.strip()[:LONGEST]))
    return failures


def _failure(compile_id: str | None, text: str) -> GuardFailure:
    code = place = None
    cell = _CELL.search(text)
    before, _, after = text.rpartition("# ")
    comment = _COMMENT.search(before)
    placed = _PLACE.fullmatch(after)
    if comment is not None and placed is not None:
        code, place = before[comment.end() :].strip() or None, placed.group(1).strip()
        text = before[: comment.start()]
    text = text.strip()
    subject, kind, old, new = _change(text)
    if cell is not None and kind == "value" and "__closure__" in subject:
        subject = cell[1]
    return GuardFailure(compile_id, text, subject, kind, old=old, new=new, code=code, place=place)


def _change(text: str) -> tuple[str, str, str | None, str | None]:
    """Returns what changed, the kind of guard, and the value before and after, if the text has
    them."""
    text = text.replace("___tuple_iterator_len(", "len(").partition(". Guard failed on")[0]
    text = text.partition("  # (unknown source")[0]
    if match := _HAS_KEY.search(text):
        return f"{match[1]} in {source_as_written(match[2])}", "keys", None, None
    if match := _INDEX.match(text):
        name, kind, index, old, new = match.groups()
        return f"{source_as_written(name)}.{kind}({index})", kind, old, new
    if match := _TENSOR.match(text):
        name, of_tensor, old, new = match.groups()
        subject = f"{of_tensor} of {source_as_written(name)}"
        return subject, of_tensor.replace(" ", "_"), old, new
    if match := _LENGTH.match(text):
        return f"len({source_as_written(match[1])})", "length", match[2], None
    if match := _GLOBAL.match(text):
        return match[1], "global", None, None
    if match := _IDENTITY.match(text):
        subject = source_as_written(match[2])
        if match[1] == "obj":
            return subject, "object", match[3], None
        return f"type of {subject}", "type", match[3], None
    if match := _ALIAS.match(text):
        subject = f"{source_as_written(match[1])} is {source_as_written(match[2])}"
        return subject, "none" if match[2] == "None" else "alias", None, None
    if (match := _SYMBOLIC.search(text)) and match[0] != text.partition(" == ")[0]:
        return source_as_written(match[0]), "condition", None, None
    if (match := _EQUAL.match(text)) and "check_" not in match[1]:
        subject = source_as_written(match[1])
        kind = "size" if ".size(" in subject else "stride" if ".stride(" in subject else "value"
        return subject, kind, match[2], None
    return "", "guard", None, None


def source_as_written(source: str) -> str:
    """Writes a source of Dynamo's in the program's notation: `L['x'].size()[0]` is `x.size(0)`.
    Globals stay `G['name']`."""
    source = _LOCAL.sub(r"\1", source)
    source = _HELD.sub(lambda part: f"[{part[1]}]" if part[1].isdigit() else f".{part[1]}", source)
    source = _HELPER.sub(lambda call: call[1] + (f"[{call[2]}]" if call[2] else ""), source)
    return _SIZE.sub(r".\1(\2)", source)


def in_words(source: str) -> str:
    """Writes a source as a person would: globals by their names, and nothing that is torch's."""
    named = _NAMED.sub(
        lambda found: found[2].replace("_dot_", ".") if found[1] else found[2],
        source_as_written(source),
    )
    return "what an uncompiled call returned" if _INTERNAL.search(named) else named
