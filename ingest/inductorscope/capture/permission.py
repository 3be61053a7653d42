"""Which models may be run. Torch-free.

Running a model is running its code. The worker runs built-in models and those in folders that its
owner configured; a person at the command line may run anything of theirs. The options it is run
with are checked in the child, which is told here whom it runs for.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from inductorscope.capture.spec import CaptureSpec, SpecError


class NotAllowed(SpecError):
    """The model or the option exists perhaps, but not for the one who asks."""


class Loading(msgspec.Struct, frozen=True):
    """How the child is to find a permitted model, and what else it permits.

    The parent makes it and hands it over beside the spec, so that no spec can say it.
    """

    file: str | None = None
    """The script, or the file of the factory; None for modules found by name."""
    paths: tuple[str, ...] = ()
    """Folders to search for modules, before all others."""
    trusted: bool = False
    """Whether a person at the command line asks, who may set any option and call any function."""


def model_folders(setting: str) -> list[Path]:
    """The configured folders, as real paths."""
    return [Path(part).expanduser().resolve() for part in setting.split(os.pathsep) if part]


def permit(spec: CaptureSpec, folders: list[Path], trusted: bool) -> Loading:
    """How to load the spec's model. Raises a sentence when it is absent or not allowed."""
    if spec.kind == "built-in":
        return Loading(trusted=trusted)
    reference = spec.model if spec.kind == "script" else spec.model.rpartition(":")[0]
    if reference.endswith(".py"):
        return _permit_file(reference, folders, trusted)
    if trusted:
        return Loading(paths=(str(Path.cwd()),), trusted=True)
    for folder in folders:
        if _holds_module(folder, reference):
            return Loading(paths=(str(folder),))
    raise NotAllowed(_refusal(f"The module {reference}", folders))


def _permit_file(reference: str, folders: list[Path], trusted: bool) -> Loading:
    given = Path(reference).expanduser()
    candidates = [given] if given.is_absolute() or trusted else []
    candidates += [] if given.is_absolute() else [folder / given for folder in folders]
    for candidate in candidates:
        real = candidate.resolve()  # links are followed first: a link out of a folder is outside
        allowed = trusted or any(real.is_relative_to(folder) for folder in folders)
        if allowed and real.is_file():
            return Loading(file=str(real), paths=(str(real.parent),), trusted=trusted)
    if trusted:
        raise SpecError(f"There is no file {reference}.")
    raise NotAllowed(_refusal(f"The file {reference}", folders))


def _holds_module(folder: Path, module: str) -> bool:
    place = folder.joinpath(*module.split("."))
    for file in (place.with_name(place.name + ".py"), place / "__init__.py"):
        if file.is_file() and file.resolve().is_relative_to(folder):
            return True
    return False


def _refusal(what: str, folders: list[Path]) -> str:
    if not folders:
        return (
            f"{what} may not be run: this worker runs built-in models only. Its owner can allow "
            "folders with INDUCTORSCOPE_MODEL_FOLDERS."
        )
    names = ", ".join(str(folder) for folder in folders)
    return f"{what} is in none of the folders whose models this worker may run ({names})."
