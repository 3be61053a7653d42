"""Planted misses of torch's caches: does the start-up page name each cause first?

`python -m bench.startup_misses WORK` fills a cache with a small program, starts the program again
with one change at a time on a copy of that cache, reads the logs, and prints what the page says.
Needs torch; each start takes some 10 seconds.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from inductorscope.answers.compile.startup import StartupPage, startup_page
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions

PROGRAM = Path(__file__).parent / "scripts" / "startup.py"
COMPONENTS = "+torch._functorch._aot_autograd.autograd_cache"
UNCHANGED = {"", "hash seed", "other folder", "comment"}
"""Changes after which every compile comes from the cache."""
CAUSES = {
    "config": r"inductor_config\[max_fusion_size\]",
    "cpp config": r"inductor_config\[cpp\.simdlen\]",
    "environment": r"inductor_config\[max_autotune\]",
    "functorch config": r"autograd_config",
    "precision": r"(cuda_matmul|\w*matmul)_settings|.*precision.*",
    "deterministic": r"deterministic_algorithms",
    "threads": r"cpp_runtime_thread_count",
    "default dtype": r"default_dtype",
    "options": r"inductor_config\[epilogue_fusion\]",
    "mode": r"inductor_config\[(max_autotune.*|coordinate.*)\]",
    "pass without id": r"(?i).*(pass|uuid|pickle).*",
    "freezing": r"inductor_config\[freezing\]|.*[Ff]reez.*",
    "cache off": r"disabled|.*fx_graph_cache.*|.*not enabled.*",
    "shape": r"example_inputs",
    "dtype": r"example_inputs",
    "stride": r"example_inputs",
    "line": r"gm",
    "constant": r"gm",
    "custom op": r"gm|.*op.*",
    "grad": r"example_inputs|grad_enabled|aot_config",
    "dynamic": r"example_inputs|gm",
    "autocast": r".*amp|gm|.*autocast.*",
    "inference": r"grad_enabled|.*inference.*|example_inputs",
    "empty cache": r"no entry",
}
"""Which component, or reason, the page has to name first after each change."""


def start(work: Path, change: str, cache: Path) -> Path:
    """Starts the program with a change; the folder of its log."""
    logs = work / "logs" / (change or "unchanged").replace(" ", "-")
    shutil.rmtree(logs, ignore_errors=True)
    env = os.environ | {
        "PLANT": change, "TORCH_TRACE": str(logs), "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TORCH_LOGS": COMPONENTS,
    }  # fmt: skip
    program = PROGRAM
    if change in {"comment", "other folder"}:
        program = work / change / "startup.py"
        program.parent.mkdir(parents=True, exist_ok=True)
        comment = "# a comment\n\n" if change == "comment" else ""
        program.write_text(PROGRAM.read_text().replace("def f(", f"{comment}def f("))
    if change == "hash seed":
        env["PYTHONHASHSEED"] = "7"
    if change == "environment":
        env["TORCHINDUCTOR_MAX_AUTOTUNE"] = "1"
    subprocess.run([sys.executable, str(program)], env=env, check=True, capture_output=True)
    return logs


def started_again(work: Path, change: str) -> Path:
    """The log of a start on a copy of the filled cache."""
    cache = work / "again"
    shutil.rmtree(cache, ignore_errors=True)
    if change != "empty cache":
        shutil.copytree(work / "cache", cache)
    return start(work, change, cache)


def page_of(settings: Settings, logs: Path, before: str) -> tuple[StartupPage, str]:
    run = read_paths(
        settings, [logs], name=logs.name, tags=[], origin="ingest", progress=lambda *_: None
    ).run_id
    engine = make_engine(settings)
    with sessions(engine)() as session:
        page = startup_page(session, run, before) if before else startup_page(session, run)
    engine.dispose()
    return page, run


def is_right(change: str, page: StartupPage) -> bool:
    if change in UNCHANGED:
        return not page.rows
    return bool(page.rows) and bool(re.match(CAUSES[change], page.rows[0].cause))


def main(work: Path) -> None:
    settings = Settings(data=work / "data", database_url="")
    shutil.rmtree(work / "data", ignore_errors=True)
    logs = work / "logs" / "first"
    if not logs.exists():
        shutil.rmtree(work / "cache", ignore_errors=True)
        start(work, "", work / "cache").rename(logs)
    _, before = page_of(settings, logs, "")
    right = 0
    for change in [*sorted(UNCHANGED), *CAUSES]:
        folder = work / "logs" / (change or "unchanged").replace(" ", "-")
        page, _ = page_of(
            settings, folder if folder.exists() else started_again(work, change), before
        )
        right += is_right(change, page)
        lead = page.rows[0] if page.rows else None
        said = f"{lead.cause[:60]}: {lead.here[:40]} | {lead.there[:40]}" if lead else "all hits"
        print(
            f"{'right' if is_right(change, page) else 'WRONG'}  {change or 'unchanged':18} {said}"
        )
    print(f"{right} of {len(UNCHANGED) + len(CAUSES)} right")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
