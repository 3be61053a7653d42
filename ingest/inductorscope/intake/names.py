"""Decides which names of archive members may be written, and where."""

import re

from inductorscope.intake.limits import Refused

MAX_PART_BYTES = 255
MAX_PATH_BYTES = 1024
SHOWN = 120
PACK_AGAIN = "pack the folder again without it"

# `C:\run`, `c:x`: a Windows drive
_DRIVE = re.compile(r"^[A-Za-z]:")


def quoted_name(name: str) -> str:
    """Makes a member's name fit for a message: no control characters, bounded length."""
    text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)
    if len(text) > SHOWN:
        text = f"{text[: SHOWN // 2]}…{text[-SHOWN // 2 :]}"
    return f"“{text}”"


def stored_text(name: str) -> str:
    """Makes a file's name fit for a database: bytes that are not UTF-8 are escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def member_path(name: str, where: str) -> tuple[str, ...]:
    """Returns the parts of a member's path below the target folder; empty for the folder itself.

    Both slashes separate, because some packers on Windows write backslashes. A member outside the
    folder refuses the whole archive, because nobody packs one by accident.
    """
    if "\0" in name:
        raise Refused(
            f"{where} has a member with a NUL in its name, {quoted_name(name)}", PACK_AGAIN
        )
    plain = name.replace("\\", "/")
    if plain.startswith("/") or _DRIVE.match(plain):
        raise Refused(
            f"{where} has a member with an absolute path, {quoted_name(name)}",
            "pack the folder again with relative paths",
        )
    parts = tuple(part for part in plain.split("/") if part not in {"", "."})
    if ".." in parts:
        raise Refused(
            f"{where} has a member that leads out of its folder, {quoted_name(name)}", PACK_AGAIN
        )
    _check_length(parts, name, where)
    return parts


def _check_length(parts: tuple[str, ...], name: str, where: str) -> None:
    sizes = [len(part.encode("utf-8", "surrogatepass")) for part in parts]
    if sizes and max(sizes) > MAX_PART_BYTES:
        raise Refused(
            f"{where} has a member whose name is {max(sizes):,} bytes long, {quoted_name(name)}; "
            f"the limit is {MAX_PART_BYTES}",
            "shorten the name",
        )
    whole = sum(sizes) + len(sizes)
    if whole > MAX_PATH_BYTES:
        raise Refused(
            f"{where} has a member whose path is {whole:,} bytes long, {quoted_name(name)}; "
            f"the limit is {MAX_PATH_BYTES:,}",
            "pack a folder closer to the files",
        )
