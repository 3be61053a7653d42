"""What is public is what the last release promised, or more: docs/releases.md.

`python -m tests.test_public` writes the promise of a new release.
"""

import inspect
import json
from pathlib import Path
from typing import Any

import inductorscope
import typer
from inductorscope import errors
from inductorscope.cli.app import app, load_commands
from inductorscope.contract.lock import FORMAT
from inductorscope.settings import Settings

ROOT = Path(__file__).parent.parent
PROMISE = ROOT / "tests" / "fixtures" / "public.json"
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def public(folder: Path) -> dict[str, list[str]]:
    """Returns what is public, in lines: removing or changing one of them breaks somebody."""
    from inductorscope.testing.compiled import Compiled, Inductor  # with torch
    from inductorscope_server.web.app import create_app

    described = create_app(Settings(data=folder, database_url="")).openapi()
    load_commands()
    commands: Any = typer.main.get_command(app)
    exported = [getattr(inductorscope, name) for name in inductorscope.__all__]
    methods = [member for name, member in vars(Compiled).items() if name.startswith("assert_")]
    return {
        "api": sorted(_routes(described)),
        "commands": sorted(
            f"{name} {option}"
            for name, command in commands.commands.items()
            for parameter in command.params
            for option in (parameter.opts if parameter.opts[0].startswith("-") else ["ARGUMENT"])
        ),
        "exit codes": [f"{name} {getattr(errors, name)}" for name in
                       ("FAILED", "USAGE", "REFUSED", "SERVER")],
        "lock": [f"format {FORMAT}"],
        "python": sorted(
            f"{function.__qualname__} {parameter.kind.description} {name}"
            for function in (*exported, Inductor.compile, *methods)
            for name, parameter in inspect.signature(function).parameters.items()
        ),
    }  # fmt: skip


def _routes(described: dict[str, Any]) -> list[str]:
    lines = []
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            lines.append(f"{method} {path}")
            for parameter in route.get("parameters", ()):
                needed = "required" if parameter.get("required") else "optional"
                lines.append(f"{method} {path} {parameter['in']} {parameter['name']} {needed}")
    for name, schema in described["components"]["schemas"].items():
        lines += [f"{name}.{field}" for field in schema.get("properties", ())]
    return lines


def missing(promised: dict[str, list[str]], now: dict[str, list[str]]) -> list[str]:
    return [line for part, lines in promised.items() for line in lines if line not in now[part]]


def test_what_is_public_stays(tmp_path: Path) -> None:
    now = public(tmp_path)
    promised = json.loads(PROMISE.read_text())
    (version,) = promised.pop("version")
    if f"\n## [{version}] - 20" in CHANGELOG:  # what is not released yet is not promised
        gone = missing(promised, now)
        assert not gone, f"Public until now, see docs/releases.md: {gone}"
    route = "get /api/runs/{run}/time"
    fewer = {**now, "api": [line for line in now["api"] if line != route]}
    assert (missing(now, fewer), missing(fewer, now)) == ([route], [])


def test_the_changelog_has_the_version() -> None:
    assert f"\n## [{inductorscope.__version__}] - " in CHANGELOG
    assert CHANGELOG.index("## [Unreleased]") < CHANGELOG.index("## [0.")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        promise = {"version": [inductorscope.__version__], **public(Path(temporary))}
        PROMISE.write_text(json.dumps(promise, indent=0) + "\n")
