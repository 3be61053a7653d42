"""Nothing that can wait for long runs in the threads that all pages share.

Asyncio has some forty threads for work without a limiter of its own. If requests wait in them for a
lock, a process or the network, pages and `/healthz` do not come, and the supervisor ends the web
process. Handlers that are no coroutines run in these threads too, but only in their sender's turn,
which leaves threads free.
"""

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import inductorscope_server
from inductorscope_server.web.parts import Parts

ROOT = Path(inductorscope_server.__file__).parent
SOURCES = {str(file.relative_to(ROOT)): file.read_text() for file in sorted(ROOT.rglob("*.py"))}
TREES = {name: ast.parse(text) for name, text in SOURCES.items()}

ROWS = "reads or writes a few rows"
IN_TURN = "writes rows, in the sender's turn"
COMMON = {
    "access/identity.py": {
        "self._named_by_proxy": ROWS, "self._of_login": ROWS, "self._of_token": ROWS,
    },
    "access/login.py": {"begin": ROWS, "_identified": ROWS},
    "access/rules.py": {"self._check": ROWS, "self._note": ROWS},
    "api/uploads.py": {"check_announcement": "computes: its text is in memory"},
    "export/export.py": {"pack": "has the threads of a loop that one export runs"},
    "pages/capture.py": {"_start": IN_TURN},
    "pages/failures.py": {"parts.jobs.programs.diagnose": ROWS},
    "pages/play.py": {"_place": ROWS, "_is_uploaded": ROWS},
    "pages/runs.py": {"change": IN_TURN},
    "pages/server.py": {"_page": IN_TURN, "_metrics": IN_TURN},
    "serving/agents.py": {
        "self._manager": "imports a library, once", "self._parts.jobs.programs.try_change": ROWS,
    },
    "serving/judging.py": {"keep": ROWS},
    "web/app.py": {"parts.close": "the server stops"},
    "web/static.py": {"self._keep": "compresses a file of the bundle, once"},
}  # fmt: skip
"""All work in the threads that pages share, and why it does not wait for long."""
WAITING = {"subprocess", "select", "socket", "threading", "multiprocessing", "fcntl", "httpx"}
"""Modules with which code waits."""
SHORT = {"rendering/templating.py": "holds its lock while it reads a file of the bundle"}


def calls_of_threads(tree: ast.AST) -> Iterator[str]:
    """What runs in a thread without a limiter."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        with_limiter = any(keyword.arg == "limiter" for keyword in node.keywords)
        if name in ("run_in_threadpool", "to_thread") or (name == "run_sync" and not with_limiter):
            yield ast.unparse(node.args[0])
        elif name == "run_in_executor" and ast.unparse(node.args[0]) == "None":
            yield ast.unparse(node.args[1])


def parts_that_wait() -> dict[str, str]:
    """The application's parts whose modules use locks, processes or sockets."""
    hints = get_type_hints(Parts)
    found = {}
    for part in fields(Parts):
        module = getattr(hints[part.name], "__module__", "")
        file = module.partition(".")[2].replace(".", "/") + ".py"
        if module.startswith("inductorscope_server.") and file not in SHORT:
            imports = [
                node.module if isinstance(node, ast.ImportFrom) else alias.name
                for node in ast.walk(TREES[file])
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            ]
            if {str(name).partition(".")[0] for name in imports} & WAITING:
                found[part.name] = file
    return found


def test_work_in_common_threads_is_listed() -> None:
    found = {(name, work) for name, tree in TREES.items() for work in calls_of_threads(tree)}
    listed = {(name, work) for name, works in COMMON.items() for work in works}
    assert found == listed, "Work that can wait needs a limiter; list other work with its reason."


def test_only_coroutines_use_the_parts_that_wait() -> None:
    waiting = parts_that_wait()
    assert {"analysis", "playground"} <= waiting.keys()
    for name, tree in TREES.items():
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for function in (node for node in functions if node.name not in ("create_app", "__init__")):
            used = {
                node.attr
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute) and "parts" in ast.unparse(node.value)
            }
            assert not used & waiting.keys(), f"{function.name} in {name} can wait: make it async"
    works = {work for works in COMMON.values() for work in works}
    assert not {part for part in waiting for work in works if f"parts.{part}." in work}
