"""Every command in a block of the documentation runs, here or in a test that is named here."""

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from inductorscope.cli.app import app, load_commands
from inductorscope.settings import PREFIX, Settings, load
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.surveys import SurveyCell

from tests.support.places import FIXTURES
from tests.support.running import run

ROOT = Path(__file__).parent.parent
PAGES = {
    str(file.relative_to(ROOT)): file.read_text()
    for file in (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")))
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BLOCK = re.compile(r"^( *)```(sh|bash|shell|console|text)\n(.*?)^\1```", re.M | re.S)

NOT_RUN = {
    command.strip(): reason
    for part in (ROOT / "tests" / "support" / "commands-not-run.txt").read_text().split("\n\n")
    for reason, *commands in [part.splitlines()]
    for command in commands
}
"""Commands of the documentation that are not run here, with the reason."""


def commands_of(page: str) -> list[str]:
    """Returns the commands in a page's blocks, without comments: in `text`, lines after a `$`."""
    found = []
    for _, language, block in BLOCK.findall(PAGES[page]):
        for line in block.splitlines():
            prompted = re.match(r" *\$ ", line)
            if line.strip() and (prompted or language not in ("console", "text")):
                text = line[prompted.end() if prompted else 0 :]
                found += re.sub(r"\s+# .*", "", text).strip().split(" && ")
    return found


def parse(command: str) -> Any:  # typer's click
    """Has a command's words read as they would be, without running it."""
    _, name, *words = shlex.split(command)
    commands: Any = typer.main.get_command(app)
    return commands.commands[name].make_context(name, words)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder as the documentation supposes it, with runs to look at."""
    place = tmp_path_factory.mktemp("docs")
    (place / "tests").symlink_to(ROOT / "tests")
    (place / "bench").symlink_to(ROOT / "bench")
    (place / "traces").symlink_to(FIXTURES / "dynamic" / "torch_trace")
    (place / "out").symlink_to(FIXTURES / "cuda-foo1")
    shutil.copytree(FIXTURES / "cuda-foo1" / "torch_compile_debug", place / "torch_compile_debug")
    shutil.copy(FIXTURES / "cuda-foo1" / "compiled.trace.json.gz", place / "profile.json.gz")
    for name in ("model.py", "mymodel.py", "train.py", "inductor.lock", "matrix.toml"):
        (place / name).touch()
    load_commands()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv(f"{PREFIX}DATA", str(place / "data"))
        assert run("project", "add", "team").returncode == 0
        engine = make_engine(Settings(data=place / "data", database_url=""))
        with sessions(engine).begin() as session:
            session.add(SurveyCell(
                key="a", survey="nightly", program="block", python="a", torch="2.13.0",
                device="cpu", mode="default", seconds=1, created_at=datetime.now(UTC), made={},
                counts={}, details={}, changes=[],
            ))  # fmt: skip
        engine.dispose()
        yield place


@pytest.fixture(scope="module")
def words(place: Path) -> dict[str, str]:
    """What stands for a name in the documentation that is the reader's own."""
    runs = [
        json.loads(run("ingest", str(FIXTURES / name), "--json").stdout)["run"]
        for name in ("cuda-foo1", "neg-does-not-compile")
    ]
    return {
        "RUN": runs[0], "OTHER": runs[1], "SLOW": runs[0], "QUICK": runs[1],
        "GRAPH": "model__0_inference_0.0", "model.py:29": "models.py:8",
        "triton_poi_fused_add_0": "triton_poi_fused_maximum_neg_0",
        "/tmp/inductorscope-try": str(place / "tried"),
    }  # fmt: skip


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)])
def test_every_command_runs(
    page: str, place: Path, words: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their order. A command that cannot run belongs to `support/commands-not-run.txt`."""
    for command in commands_of(page):
        name, _, rest = command.partition(" ")
        if command in NOT_RUN:
            if name == "inductorscope":
                parse(command)
        elif name == "export":
            for variable, value in (setting.split("=") for setting in shlex.split(rest)):
                monkeypatch.setenv(variable, value)
            load()
            monkeypatch.undo()
        else:
            assert name == "inductorscope", f"{page}: {command} is neither run nor listed"
            for word, other in words.items():
                rest = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", other, rest)
            if command == "inductorscope restore runs.tar.zst":  # "into an empty database"
                rest += " --data empty"
            done = run(*shlex.split(rest), typed="correct horse\n")
            assert done.returncode == 0, f"{page}: {command}: {done.stderr}{done.stdout}"


def test_what_is_not_run_is_documented_and_tested_elsewhere() -> None:
    documented = {command for page in PAGES for command in commands_of(page)}
    assert NOT_RUN.keys() - documented == set()
    for named in re.findall(r"tests/[\w/]+\.py(?:::\w+)?", " ".join(NOT_RUN.values())):
        file, _, test = named.partition("::")
        assert not test or f"\ndef {test}(" in (ROOT / file).read_text(), named
        assert (ROOT / file).exists(), named


def test_variables_that_pages_export_are_settings() -> None:
    known = {f"{PREFIX}{field.name.upper()}" for field in fields(Settings)}
    for text in PAGES.values():
        assert set(re.findall(rf"\b{PREFIX}[A-Z_]+(?==)", text)) <= known


def options_of(command: Any, words: list[str]) -> set[str]:  # typer's click
    """Returns the options of the command that words name, or of the one below it."""
    below = getattr(command, "commands", {}).get(words[0]) if words else None
    if below is not None:
        return options_of(below, words[1:])
    parameters = command.params
    return {option for own in parameters for option in (*own.opts, *own.secondary_opts)}


@pytest.mark.parametrize("page", PAGES)
def test_commands_options_extras_and_modules_that_pages_name_exist(page: str) -> None:
    load_commands()
    commands: Any = typer.main.get_command(app)
    for line in re.findall(r"(?:^|`)inductorscope ([^`#|\n]+)", PAGES[page], re.M):
        words = line.partition(" -- ")[0].split()
        named = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        assert words[0] in commands.commands or words[0] in named, line
        assert named - {"--help"} <= options_of(commands, words), line
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", PAGES[page], re.M)) <= {*targets}
    extras = re.findall(r"inductorscope\[([\w,]+)\]", PAGES[page])
    assert {*",".join(extras).split(",")} - {""} <= PROJECT["optional-dependencies"].keys()
    for module in re.findall(r"(?:^|`)python -m ((?:bench|tests)[\w.]+)", PAGES[page], re.M):
        assert find_spec(module), module
