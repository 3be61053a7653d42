"""Why a start compiled again: logs of one program, started again with one change at a time."""

import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from inductorscope.analyze.compile.reuse import differences, nearest
from inductorscope.answers.compile.startup import StartupPage, startup_page
from inductorscope.cli.app import app, load_commands
from inductorscope.cli.local import read_paths
from inductorscope.formats.log.cache_keys import Component, read_components
from inductorscope.formats.log.server_log import read_server_log
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from typer.testing import CliRunner

Beside = Callable[[str], StartupPage]


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> Beside:
    """The page of a start, beside the first one, which filled the cache."""
    folder = tmp_path_factory.mktemp("starts")
    with tarfile.open(fixtures / "startup.tar.xz") as files:
        files.extractall(folder, filter="data")
    settings = Settings(data=folder / "data", database_url="")

    def read(start: str) -> str:
        return read_paths(
            settings, [folder / "startup" / start], name=start, tags=[], origin="ingest",
            progress=lambda *_: None,
        ).run_id  # fmt: skip

    first = read("first")

    def page(start: str) -> StartupPage:
        run, engine = read(start), make_engine(settings)
        with sessions(engine)() as session:
            found = startup_page(session, run, "" if start == "first" else first)
        engine.dispose()
        return found

    return page


def test_an_unchanged_start_misses_nothing(beside: Beside) -> None:
    page = beside("unchanged")
    assert page.rows == []
    assert page.said == "Every lookup was answered by a cache."
    assert page.lookups == 4
    assert {(row.of_autograd, row.of_inductor) for row in page.pieces} == {("hit", "hit")}
    assert sum(row.instances for row in page.pieces) == 2
    assert page.unsaid.startswith("Where the log says nothing: `TORCH_CACHING_PRECOMPILE=1`")


def test_an_option_is_named_with_both_values(beside: Beside) -> None:
    page = beside("config")
    [row] = page.rows
    assert (row.cause, row.here, row.there) == ("inductor_config[max_fusion_size]", "3", "64")
    assert (row.count, row.code) == (4, "the same in 1 of 2 compiles")
    assert [ref.id for ref in row.compiles] == ["0/0", "1/0"]
    assert row.seconds == pytest.approx(page.seconds)
    assert "4 of 4 lookups missed because `inductor_config[max_fusion_size]` differs." in page.said


def test_the_command_prints_the_page_of_two_starts(tmp_path: Path, fixtures: Path) -> None:
    with tarfile.open(fixtures / "startup.tar.xz") as files:
        files.extractall(tmp_path, filter="data")
    settings = Settings(data=tmp_path / "data", database_url="")
    first, slow = (
        read_paths(
            settings, [tmp_path / "startup" / start], name=start, tags=[], origin="ingest",
            progress=lambda *_: None,
        ).run_id
        for start in ("first", "config")
    )  # fmt: skip
    load_commands()
    asked = ["startup", slow[:8], first[:8], "--data", str(settings.data)]
    printed = CliRunner().invoke(app, asked)
    assert printed.exit_code == 0, printed.output
    assert "lookups missed because `inductor_config[max_fusion_size]` differs." in printed.stdout
    page = msgspec.json.decode(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert page["rows"][0]["cause"] == "inductor_config[max_fusion_size]"


def test_a_shape_is_named_and_other_compiles_are_not(beside: Beside) -> None:
    [row] = beside("shape").rows
    assert (row.cause, row.here, row.there) == (
        "example_inputs[0]", "shape=torch.Size([65, 32])", "shape=torch.Size([64, 32])",
    )  # fmt: skip
    assert row.code == "other code"


def test_a_reason_of_torch_is_shown(beside: Beside) -> None:
    [row] = beside("pass-without-id").rows
    assert row.cause == "Unsupported post grad custom pass"
    assert "bypass" in row.what


def test_the_start_of_a_log_is_divided_and_predicted(beside: Beside) -> None:
    page = beside("first")
    assert not page.from_exec
    assert sum(row.share for row in page.start) == pytest.approx(1)
    assert {"dynamo", "aot", "passes", "lowering", "waiting"} < {row.kind for row in page.start}
    assert page.beside == []  # it compiled kernels in its own thread
    whole = sum(row.us for row in page.start) / 1e6
    assert [row.title for row in page.what_if] == [
        "a warm cache folder", "a package of the caches",
    ]  # fmt: skip
    assert all(row.predicted_s + row.saved_s == pytest.approx(whole) for row in page.what_if)
    assert [(row.function, row.of_autograd, row.of_triton) for row in page.pieces] == [
        ("f", "miss", ""), ("g", "miss", ""),
    ]  # fmt: skip
    assert not beside("unchanged").what_if


def test_without_another_run_nothing_is_blamed(beside: Beside) -> None:
    page = beside("first")
    assert page.other is None
    assert [row.cause for row in page.rows] == [""]


def test_caches_that_were_off_are_the_whole_reason(tmp_path: Path, fixtures: Path) -> None:
    settings = Settings(data=tmp_path, database_url="")
    run = read_paths(
        settings, [fixtures / "cuda-foo1"], name="off", tags=[], origin="ingest",
        progress=lambda *_: None,
    ).run_id  # fmt: skip
    engine = make_engine(settings)
    with sessions(engine)() as session:
        page = startup_page(session, run)
    engine.dispose()
    assert page.said.startswith("Caches were off, so no lookup happened in all ")
    assert (page.missed_seconds, page.rows) == (page.seconds, [])
    assert page.lookups > 0
    assert {row.of_inductor.partition(" ")[0] for row in page.pieces} == {"disabled"}


def test_of_several_differences_the_cause_leads() -> None:
    graph, option = Component("a" * 30, "x = y + 1\nz"), Component("b" * 30, "True")
    other = {"gm": Component("c" * 30, "z"), "inductor_config[dce]": Component("d" * 30, "False")}
    found = differences({"gm": graph, "inductor_config[dce]": option}, other)
    assert [difference.name for difference in found] == ["inductor_config[dce]", "gm"]
    assert found[1].here == "x = y + 1"
    assert nearest({"gm": graph}, [other, {"gm": graph}]) == {"gm": graph}
    assert nearest({"gm": graph}, []) is None


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b'{"components": 3}', b'{"components": [1, "x", "[a] b: c"]}', b"\xff"]
)
def test_a_damaged_record_has_no_components(payload: bytes) -> None:
    assert read_components(payload) == {}


def test_logs_of_servers_tell_the_phases_of_their_start(tmp_path: Path, fixtures: Path) -> None:
    settings = Settings(data=tmp_path / "data", database_url="")
    logs = fixtures / "server-logs"
    runs = {
        log: read_paths(
            settings, [logs / f"{log}.log"], name=log, tags=[], origin="ingest",
            progress=lambda *_: None,
        ).run_id
        for log in ("vllm-cold", "vllm-warm", "sglang")
    }  # fmt: skip
    engine = make_engine(settings)
    with sessions(engine)() as session:
        page = startup_page(session, runs["vllm-cold"], runs["vllm-warm"])
        sglang = startup_page(session, runs["sglang"])
    engine.dispose()
    times = {(row.title, row.of): (row.seconds, row.other_seconds) for row in page.server}
    graphs = "compile range (1, 8192)"
    assert times["compiling graphs", graphs] == (30.95, None)
    assert times["loading compiled graphs", graphs] == (None, 4.19)
    assert times["torch.compile in all", ""] == (38.27, 11.5)
    assert times["starting the engine in all", ""] == (82.31, 51.02)
    assert page.server_said.endswith("because `env[VLLM_HOST_IP]` differs.")
    assert [(row.name, row.here) for row in page.factors] == [
        ("env", "0cfa4c"), ("env[VLLM_HOST_IP]", "'10.0.0.7'"),
    ]  # fmt: skip
    captured = [(row.of, row.seconds, row.processes) for row in sglang.server[1:]]
    assert captured == [("", 12.31, 2), ("draft", 62.67, 1)]
    assert (sglang.server[0].title, sglang.server[0].seconds) == ("loading weights", 4.2)


@pytest.mark.parametrize(
    ("line", "title", "seconds"),
    [
        ("INFO 01-20 22:10:09 backends.py:409] Dynamo bytecode transform time: 5.03 s", "Dynamo",
         5.03),
        ("INFO 04-18 08:26:15 [backends.py:120] Directly load the compiled graph(s) for shape None "
         "from the cache, took 4.190 s", "loading compiled graphs", 4.19),
        ("2026-06-10T11:30:44Z \x1b[1;36m(Worker_TP1 pid=120)\x1b[0;0m INFO 06-10 11:30:44 "
         "[monitor.py:34] torch.compile takes 9.61 s in total", "torch.compile in all", 9.61),
        ("INFO 03-13 09:01:00 [gpu_model_runner.py:1686] Graph capturing finished in 25 secs, took "
         "0.62 GiB", "capturing CUDA graphs", 25.0),
        ("Compiling (num_tokens=20):  0%|      | 0/5 [00:00<?, ?it/s][2026-03-17 07:16:51 TP0] "
         "Compiling a graph for dynamic shape takes 3.38 s", "compiling graphs", 3.38),
        ("[2026-03-17 07:17:38 TP1] Capture piecewise CUDA graph end. Time elapsed: 27.4 s. mem",
         "capturing CUDA graphs", 27.4),
        ("INFO 12-05 22:39:04 monitor.py:13] graph compilation takes 14.7 s in total",
         "torch.compile in all", 14.7),
        ("INFO 02-18 04:51:48 worker.py:266] Memory profiling takes 11.9 seconds", "profiling run",
         11.9),
        ("INFO 04-28 16:20:20 [backends.py:1128] [actor=<root>.<generator{'gpus': 0/4}>] Dynamo "
         "bytecode transform time: 15.3 s", "Dynamo", 15.3),
        ("INFO 06-10 11:30:44 [api_server.py:1] torch.compile is off", "", 0.0),
    ],
)  # fmt: skip
def test_forms_of_other_versions(line: str, title: str, seconds: float) -> None:
    phases = [(phase.title, phase.seconds) for phase in read_server_log([line]).phases]
    assert phases == ([(title, seconds)] if title else [])
