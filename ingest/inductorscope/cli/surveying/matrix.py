"""The matrix of a survey: programs, Pythons, devices and modes, in a TOML file."""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from inductorscope.capturing.builtin import NAMES
from inductorscope.capturing.spec import SpecError, from_builtins
from inductorscope.errors import USAGE, InWords

HERE = "this"
"""Label of the Python that runs the command, if the matrix names none."""
ASK = """
import json, sys, msgspec, numpy, runpy
from importlib.util import find_spec
file = (find_spec("torch") or __import__("torch")).origin.replace("__init__", "version")
json.dump(runpy.run_path(file)["__version__"], sys.stdout)
"""
"""Prints the version of torch, which takes seconds to import."""


class MatrixError(InWords, ValueError):
    """The file is not a matrix; the message is a sentence."""

    exit_code = USAGE


class Matrix(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of the file."""

    programs: dict[str, str | dict[str, Any]]
    """Name → model, or a table of `model` and other options of `capture`."""
    name: str = ""
    """Name of the survey; by default that of the file."""
    pythons: dict[str, str] = {}
    """Label → Python."""
    devices: list[str] = msgspec.field(default_factory=lambda: ["cpu"])
    """`cpu`, `cuda`, `cuda:N`, or a GPU to compile for without one."""
    modes: list[str] = msgspec.field(default_factory=lambda: ["default"])
    seconds: int = 300
    """Most seconds of a cell."""


class Python(msgspec.Struct, frozen=True):
    """An environment, and its torch."""

    label: str
    path: str
    torch: str


class Cell(msgspec.Struct, frozen=True):
    """A cell to compile."""

    key: str
    program: str
    python: Python
    device: str
    mode: str
    options: dict[str, Any]
    """Of `capture`, with the model."""

    @property
    def words(self) -> str:
        return f"{self.program}, {self.python.label}, {self.device}, {self.mode}"


def read_matrix(file: Path) -> Matrix:
    """Reads a matrix. Raises MatrixError."""
    try:
        matrix = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Matrix)
    except OSError as error:
        raise MatrixError(f"{file} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise MatrixError(
            f"{file} is not a matrix: {error}.", "docs/atlas.md shows one to begin with."
        ) from None
    for what in ("programs", "devices", "modes"):
        if not getattr(matrix, what):
            raise MatrixError(f"{file}: {what} is empty.", "Name at least one.")
    matrix.name = matrix.name or file.stem
    for name, model in matrix.programs.items():
        options = {"model": model} if isinstance(model, str) else dict(model)
        path, colon, factory = str(options.get("model", "")).rpartition(":")
        if path.endswith(".py") or factory.endswith(".py"):  # from the folder of the matrix
            path, factory = (path, factory) if colon else (factory, "")
            options["model"] = f"{file.parent.resolve() / path}{colon}{factory}"
        matrix.programs[name] = options
        _check(f"{file}: programs.{name}", options)
    for device in matrix.devices:
        _check(f"{file}: devices", {"model": NAMES[0], **on_device(device)})
    for mode in matrix.modes:
        _check(f"{file}: modes", {"model": NAMES[0], "mode": mode})
    return matrix


def find_python(file: Path, label: str, path: str) -> Python:
    """Asks a Python for its torch. Raises MatrixError."""
    own = path if "/" not in path else str(file.parent.resolve() / Path(path).expanduser())
    found = shutil.which(own)
    if found is None:
        raise MatrixError(
            f"{file}: pythons.{label}: {own} is not a program.", "Write the path of a Python."
        )
    try:
        asked = subprocess.run(
            [found, "-c", ASK], capture_output=True, text=True, timeout=120, check=True
        )
    except subprocess.SubprocessError as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().rpartition("\n")[2]
        raise MatrixError(
            f"{file}: pythons.{label}: {own} cannot be used: {said}.",
            "It needs torch, numpy and msgspec.",
        ) from None
    return Python(label, found, str(json.loads(asked.stdout)))


def cells_to_do(matrix: Matrix, pythons: Sequence[Python]) -> tuple[list[Cell], dict[str, str]]:
    """Returns the cells, and those that no torch compiles: name → reason."""
    cells, refused = [], {}
    for program, options in matrix.programs.items():
        assert isinstance(options, dict)
        for device in matrix.devices:
            for mode in matrix.modes:
                own = {"name": program, **options, **on_device(device)}
                own |= {} if mode == "default" else {"mode": mode}
                try:
                    from_builtins(own)
                except SpecError as error:
                    refused[f"{program}, {device}, {mode}"] = str(error)
                    continue
                for python in pythons:
                    parts = [matrix.name, program, python.label, python.torch, device, mode]
                    key = sha256(json.dumps([parts, own], sort_keys=True).encode()).hexdigest()
                    cells.append(Cell(key[:32], program, python, device, mode=mode, options=own))
    return cells, refused


def on_device(device: str) -> dict[str, str]:
    """Returns the options of `capture` for a device of a matrix."""
    if device == "cpu":
        return {}
    if device.startswith("cuda"):
        return {"device": device}
    return {"device": "cuda:0", "pretend": device}


def _check(where: str, options: dict[str, Any]) -> None:
    try:
        from_builtins(options)
    except SpecError as error:
        raise MatrixError(f"{where}: {error}") from None
