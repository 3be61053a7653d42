"""The command line as scripts use it: what it prints and how it exits."""

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from inductorscope.capturing.builtin import NAMES
from inductorscope.jobs.queue.address import address, announced, running
from inductorscope.settings import Settings

from tests.support.running import run


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command, as a program."""
    command = [sys.executable, "-m", "inductorscope", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_ingest_prints_what_scripts_need(tmp_path: Path, fixtures: Path) -> None:
    data, folder = str(tmp_path / "data"), str(fixtures / "cuda-foo1")
    done = run("ingest", folder, "--data", data, "--json", "--name", "tutorial", "--tag", "a")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    expected = {"run", "url", "seconds", "bytes_in", "bytes_stored", "graphs", "kernels", "dropped"}
    assert expected <= set(answer)
    assert (answer["graphs"], answer["kernels"], answer["dropped"]) == (1, 1, [])
    assert answer["url"].endswith(f"/runs/{answer['run']}")
    assert 0 < answer["bytes_stored"] < answer["bytes_in"]

    again = json.loads(run("ingest", folder, "--data", data, "--json").stdout)
    assert (again["run"], again["duplicate"]) == (answer["run"], True)

    listed = json.loads(run("runs", "--data", data, "--json").stdout)
    assert [(row["id"], row["name"], row["tags"]) for row in listed] == [
        (answer["run"], "tutorial", ["a"])
    ]

    deleted = run("delete", answer["run"][:6], "--data", data)
    assert deleted.returncode == 0, deleted.stderr
    assert json.loads(run("runs", "--data", data, "--json").stdout) == []


def test_lines_are_aligned_once_the_run_is_printed(tmp_path: Path, fixtures: Path) -> None:
    data = str(tmp_path / "data")
    little = """
import inductorscope.cli.app as cli
import inductorscope.cli.local as local
local.read_run.__kwdefaults__["aligned_at_once"] = 0
cli.main()
"""
    command = [sys.executable, "-P", "-c", little, "ingest", str(fixtures / "cuda-foo1")]
    hostile = tmp_path / "upload"
    hostile.mkdir()
    (hostile / "typer.py").write_text("raise SystemExit(9)")
    done = subprocess.run(
        [*command, "--data", data], capture_output=True, text=True, check=False, cwd=hostile
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert done.stdout.endswith("The lines of its kernels are aligned.\n")
    (listed,) = json.loads(run("runs", "--data", data, "--json").stdout)
    again = run("relink", listed["id"][:6], "--data", data)
    assert (again.returncode, again.stdout) == (0, ""), "all is aligned"
    unknown = run("relink", "ffff", "--data", data)
    assert (unknown.returncode, unknown.stderr) == (
        1,
        "No run starts with ffff; `inductorscope runs` lists them.\n",
    )


def test_several_paths_are_one_run(tmp_path: Path, fixtures: Path) -> None:
    parts = sorted((fixtures / "cuda-foo1").iterdir())
    data = str(tmp_path / "data")
    done = run("ingest", *map(str, parts), "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["graphs"] == 1
    whole = run("ingest", str(fixtures / "cuda-foo1"), "--data", data, "--json")
    assert json.loads(whole.stdout)["run"] == json.loads(done.stdout)["run"]


def test_a_run_is_listed_reported_deleted_restored_and_gone(tmp_path: Path, fixtures: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    assert "No worker of this machine" in run("worker-health", *data).stderr
    folder = str(fixtures / "neg-does-not-compile")
    found = json.loads(run("ingest", folder, *data, "--json").stdout)["run"]
    (row,) = [line for line in run("runs", *data).stdout.splitlines() if found in line]
    assert row.split()[1:3] == ["neg-does-not-compile", "2.13.0+cpu"]
    assert "max_propagate_nan" in run("report", found, *data).stdout
    for command in ("measure", "bisect", "improve"):
        refused = run(command, found, *([found] if command != "improve" else []), *data)
        assert refused.returncode == 3
        assert "code of uploads is never run here" in refused.stderr
    assert run("delete", found, *data).returncode == 0
    assert run("trash", *data).stdout.startswith(f"{found}  neg-does-not-compile  ")
    assert run("trash", "--restore", found, *data).stdout.startswith(f"Restored {found}.")
    assert run("delete", found, *data).returncode == 0
    assert re.match(r"Freed [\d.]+\sKiB\.\nEmptying", run("trash", "--empty", *data).stdout)
    assert run("runs", *data).stdout.startswith("No runs.")


def test_models_are_listed() -> None:
    refused = run("capture", "anything")
    assert refused.returncode == 2
    assert all(name in refused.stderr for name in NAMES)


@pytest.mark.parametrize("level", ["", "torch_compile_debug", "run_", "torchinductor", "model__0"])
def test_links_takes_any_level(fixtures: Path, level: str) -> None:
    top = fixtures / "cuda-foo1"
    found = [top, *sorted(path for path in top.rglob("*") if path.is_dir())]
    folder = next(path for path in found if path.name.startswith(level))
    answer = json.loads(run("links", str(folder)).stdout)
    assert answer["schema"] == 1
    (graph,) = answer["graphs"]
    assert graph["name"] == "model__0_inference_0.0"
    (kernel,) = graph["kernels"]
    text = next(top.rglob("output_code.py")).read_text().split("\n")
    linked = {text[line["line"] - 1].strip(): line for line in kernel["lines"]}
    neg = linked["tmp2 = -tmp1"]
    assert neg["fx"] == ["neg"]
    assert [op.rpartition(".")[2] for op in neg["ops"]] == ["neg"]
    assert neg["confidence"] in ("exact", "inferred")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["ingest", "/nowhere/at/all"], 2, "does not exist"),
        (["links", "/nowhere/at/all"], 3, "does not exist"),
        (["capture", "neg-maximum-kat"], 2, "Did you mean neg-maximum-cat?"),
        (["capture", "gpt-small", "--config", "a"], 2, "KEY=VALUE"),
        (["push", __file__, "--server", "http://127.0.0.1:1"], 4, "did not answer for 1 s"),
        (["push", __file__, "--server", "127.0.0.1:1"], 4, "is it http://127.0.0.1:1?"),
        (["runs", "--data", "/nowhere/at/all"], 2, "/nowhere/at/all does not exist"),
        (["delete", "ffff"], 1, "No run starts with ffff"),
        (["export", "ffff", "--preview", "--hide", ""], 2, "--hide needs a word"),
        (["retry", "ffff"], 1, "There is no job ffff."),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_mistakes_get_a_sentence_and_a_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path))
    monkeypatch.setenv("INDUCTORSCOPE_PATIENCE_SECONDS", "1")
    # The client reads how patient it is when it is imported.
    done = (start if arguments[0] == "push" else run)(*arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_capture_without_torch_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("""raise ModuleNotFoundError("No module named 'torch'")""")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run("capture", "neg-maximum-cat", "--data", str(tmp_path / "data"))
    assert done.returncode == 1
    assert "pip install 'inductorscope[capture]'" in done.stderr


def test_guards_refuses_an_argument_that_no_guard_names(fixtures: Path, tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    log = next((fixtures / "dynamic").rglob("*.log.gz"))
    found = json.loads(run("ingest", str(log), *data, "--json").stdout)["run"]
    done = run("guards", found, "--shapes", "nobody=(3,3)", *data)
    assert done.returncode == 2
    assert done.stderr.startswith("No guard names nobody: ")
    assert "compile" in run("guards", found, "--shapes", "x=(3,3)", *data).stdout


def test_links_name_the_server_that_runs(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, database_url="")
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with announced(replace(settings, port=server.server_port)):
        assert address(settings) == f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        server.server_close()
        assert running(settings) is None
    assert address(settings) == "http://127.0.0.1:8765"


def test_a_database_out_of_reach_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://nobody@127.0.0.1:1/nothing"
    monkeypatch.setenv("INDUCTORSCOPE_DATABASE_URL", url)
    done = run("runs", "--data", str(tmp_path))
    assert done.returncode == 1
    assert "database" in done.stderr
    assert "Traceback" not in done.stderr


def umask() -> int:
    value = os.umask(0o022)
    os.umask(value)
    return value


BAD_DATA = {
    "a file as the folder": ("notes.txt", {}, "is a file; name a folder"),
    "a folder as the database": ("folder", {}, "is a folder"),
    "a text as the database": ("text", {}, "not a"),
    "a damaged database": ("damaged", {}, "The database"),
    "another kind of database": ("new", {"DATABASE_URL": "mysql://a:b@h/d"}, "DATABASE_URL is not"),
    "no address": ("new", {"DATABASE_URL": "postgresql://u:pw@h:port/d"}, "DATABASE_URL is not"),
    "nobody there": ("new", {"DATABASE_URL": "postgresql://u:pw@127.0.0.1:1/d"}, "The database"),
    "no such port": ("new", {"PORT": "99999"}, "The port is 99999"),
}


# Of the server's processes that cannot open the database, one case: each takes seconds.
@pytest.mark.parametrize(
    ("command", "case"),
    [(command, case) for case in BAD_DATA for command in ("runs", "serve")
     if command == "runs" or case not in ("a damaged database", "nobody there")],
)  # fmt: skip
def test_a_bad_folder_or_database_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, case: str
) -> None:
    name, variables, said = BAD_DATA[case]
    (tmp_path / "notes.txt").write_text("dear diary")
    for folder in ("folder/inductorscope.db", "text", "damaged"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "text" / "inductorscope.db").write_text("dear diary")
    (tmp_path / "damaged" / "inductorscope.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    for variable, value in variables.items():
        monkeypatch.setenv(f"INDUCTORSCOPE_{variable}", value)
    begin = start if command == "serve" and case == "no address" else run
    before = umask()
    done = begin(command, "--data", str(tmp_path / name))
    assert umask() == before
    assert done.returncode in (1, 2), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "pw" not in done.stderr
    lines = done.stderr.splitlines()
    if said != "The database" and case != "no address":  # which only the processes find
        assert len(lines) == 1, done.stderr
    assert len(lines) < 30, done.stderr


def test_a_token_in_other_letters_does_not_stop_push() -> None:
    """It is sent as UTF-8."""
    received: list[str] = []

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.headers["Authorization"].encode("latin-1").decode())
            self.send_response(401)
            self.end_headers()

        def log_message(self, format: str, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        done = run("push", __file__, "--server", address, "--token", "schlüssel-ключ")
        server.shutdown()
    assert received == ["Bearer schlüssel-ключ"]
    assert done.returncode == 4
    assert done.stderr.strip() == (
        f"{address} does not know this token. Check --token or INDUCTORSCOPE_TOKEN."
    )


def test_nothing_to_read_leaves_nothing(tmp_path: Path) -> None:
    diary = tmp_path / "notes.txt"
    diary.write_text("dear diary")
    done = run("ingest", str(diary), "--data", str(tmp_path / "data"), "--json")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["error"]["what"]
    assert not list((tmp_path / "data").glob("reading-*"))


def test_every_command_explains_itself() -> None:
    commands = (
        "serve",
        "worker",
        "worker-health",
        "capture",
        "ingest",
        "push",
        "links",
        "runs",
        "delete",
    )
    listed = run("--help").stdout
    for name in commands:
        assert f" {name} " in listed
        assert run(name, "--help").returncode == 0


def test_listing_runs_imports_neither_readers_nor_alembic(tmp_path: Path) -> None:
    """They take longer than the answer. Only what makes a new folder's database needs one."""
    assert run("runs", "--data", str(tmp_path)).returncode == 0
    program = (
        "import sys\n"
        "from inductorscope.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'alembic', 'numpy', 'inductorscope.reading', 'inductorscope.correlate.graph'}\n"
        "print(heavy & sys.modules.keys())\n"
    )
    command = [sys.executable, "-c", program, "runs", "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_without_torch_nothing_but_capture_needs_it(fixtures: Path) -> None:
    """Torch is never imported by reading, linking or serving."""
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import inductorscope_server.web.app, inductorscope.reading\n"
        "import inductorscope.jobs.queue.worker\n"
        "from inductorscope.cli.app import load_commands; load_commands()\n"
        "from inductorscope.jobs.work import __main__, benchmark, diagnosis, reading\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_people_projects_and_tokens_are_made_and_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def done(*arguments: str, code: int = 0, typed: str = "") -> str:
        ended = run(*arguments, "--data", str(tmp_path), typed=typed)
        assert ended.returncode == code, ended.stderr
        return ended.stdout or ended.stderr

    password = "correct horse\n"
    done("user", "add", "ada", "--role", "author", typed=password)
    assert "already" in done("user", "add", "ada", typed=password, code=1)
    assert "10 characters" in done("user", "add", "eve", typed="short\n", code=1)
    assert "no role" in done("user", "role", "ada", "king", code=1)
    done("user", "role", "ada", "administrator")
    done("user", "password", "ada", typed=password)
    done("project", "add", "compilers")
    done("project", "join", "compilers", "ada")
    assert done("project", "list").split() == ["compilers", "ada"]
    assert "Moved 0 runs" in done("project", "take", "compilers", "--unplaced")
    made = done("token", "add", "ci", "--scope", "upload", "--project", "compilers").strip()
    listed = done("token", "list")
    assert "never used" in listed
    assert made not in listed
    assert "needs a person or a project" in done("token", "add", "x", "--scope", "read", code=1)
    done("token", "remove", "1")
    assert "no token 1" in done("token", "remove", "1", code=1)
    done("project", "leave", "compilers", "ada")
    done("project", "remove", "compilers")
    assert done("user", "list").split() == ["ada", "administrator", "local"]
    done("user", "remove", "ada")
    entries = [json.loads(line) for line in done("audit").splitlines()]
    actions = [entry["action"] for entry in entries]
    assert actions.count("add person") == 1
    assert {"make a token", "remove a token", "change role", "remove person"} <= set(actions)
    assert len(done("audit", "--csv").splitlines()) == len(entries) + 1
    assert done("audit", "--since", "2100-01-01") == ""
