"""Decides which models may be run. Torch-free.

Running a model means running its code. A worker runs built-in models and those in folders that its
owner configured; a user at the command line may run anything. The child checks the options;
`Loading` tells it who runs the model.
"""

import os
from pathlib import Path

import msgspec

from inductorscope.capturing.spec import LAUNCHERS, CaptureSpec, SpecError


class NotAllowed(SpecError):
    """The model or option is not permitted for this user; it may exist."""


class Loading(msgspec.Struct, frozen=True):
    """How the child finds a permitted model, and what else it permits.

    The parent passes it separately from the spec, so that no spec can contain it.
    """

    file: str | None = None
    """The script, or the file of the factory; None for modules imported by name."""
    paths: tuple[str, ...] = ()
    """Folders to search for modules, before all others."""
    trusted: bool = False
    """Whether a user at the command line runs it, who may set any option and call any function."""


def model_folders(setting: str) -> list[Path]:
    """Returns the configured folders as real paths."""
    return [Path(part).expanduser().resolve() for part in setting.split(os.pathsep) if part]


def permit(spec: CaptureSpec, folders: list[Path], trusted: bool) -> Loading:
    """Returns how to load the spec's model. Raises SpecError if it is missing or not permitted."""
    if spec.kind == "built-in":
        return Loading(trusted=trusted)
    if spec.model in LAUNCHERS:
        if not trusted:
            raise NotAllowed(
                f"{spec.model} may not be started from the web. Run it from the command line on "
                f"the machine (inductorscope capture {spec.model} -- …)."
            )
        return Loading(trusted=True)
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
    path = Path(reference).expanduser()
    candidates = [path] if path.is_absolute() or trusted else []
    candidates += [] if path.is_absolute() else [folder / path for folder in folders]
    for candidate in candidates:
        real = (
            candidate.resolve()
        )  # follows links first: the target of a link may be outside the folder
        allowed = trusted or any(real.is_relative_to(folder) for folder in folders)
        if allowed and real.is_file():
            return Loading(file=str(real), paths=(str(real.parent),), trusted=trusted)
    if trusted:
        raise SpecError(f"The file {reference} does not exist.")
    raise NotAllowed(_refusal(f"The file {reference}", folders))


def _holds_module(folder: Path, module: str) -> bool:
    place = folder.joinpath(*module.split("."))
    files = (place.with_name(place.name + ".py"), place / "__init__.py")
    return any(file.is_file() and file.resolve().is_relative_to(folder) for file in files)


def _refusal(what: str, folders: list[Path]) -> str:
    if not folders:
        return (
            f"{what} may not be run: this worker runs built-in models only. Its owner can allow "
            "folders with INDUCTORSCOPE_MODEL_FOLDERS."
        )
    names = ", ".join(str(folder) for folder in folders)
    return f"{what} is in none of the folders whose models this worker may run ({names})."
