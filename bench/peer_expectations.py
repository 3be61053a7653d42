"""What tlparse shows for each shared log, as data for tests: names and digests, no texts.

    python -m bench.peer_expectations

Writes tests/fixtures/tlparse/<log>.json. An artifact is [name, form, digest]:

    text    SHA-256 of the text as tlparse gives it out
    json    SHA-256 of the same value as compact JSON with sorted keys: tlparse indents it anew
    page    made by tlparse from a record; no digest
    link    SHA-256 of the address
"""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

from bench.logs import WORK
from bench.measure import run
from bench.peers import tlparse
from tests.support.places import FIXTURES, SHARED

OUT = FIXTURES / "tlparse"
NUMBERED = re.compile(r"^(.+)_(\d+)\.(\w+)$")
KEYED = "inductor_output_code"
"""Its name goes on with the key of the file in Inductor's cache."""
STATS = re.compile(r"Stats \{ ok: (\d+)")


def logs() -> dict[str, Path]:
    """All logs that expectations are kept for, by name of the file."""
    folder = SHARED / "traces" / "logs"
    found = {
        path.relative_to(folder).as_posix().replace("/", "-"): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    (fixture,) = (FIXTURES / "cuda-foo1" / "torch_trace").glob("*.log")
    return {**found, "cuda-foo1": fixture}


def expectations(log: Path) -> dict[str, object]:
    """What tlparse makes of one log."""
    out = WORK / "expectations"
    shutil.rmtree(out, ignore_errors=True)
    command = [os.fspath(tlparse()), "--plain-text", "--no-browser", "-o", str(out), str(log)]
    said = run(command, WORK / "expectations.log").said
    read = STATS.search(said)
    assert read is not None, said
    directory = json.loads((out / "compile_directory.json").read_text())
    compiles = {
        compile_id.strip("[]"): [_artifact(out, entry) for entry in found["artifacts"]]
        for compile_id, found in directory.items()
    }
    shutil.rmtree(out)
    return {"records": int(read[1]), "compiles": compiles}


def _artifact(out: Path, entry: dict[str, str]) -> list[str | None]:
    numbered = NUMBERED.match(entry["name"])
    if numbered is None:
        return [entry["name"], "link", _digest(entry["url"].encode())]
    name, _, ending = numbered.groups()
    if name.startswith(KEYED):
        name = KEYED
    content = (out / entry["url"]).read_bytes()
    if ending == "html":
        return [name, "page", None]
    if ending == "json":
        plain = json.dumps(json.loads(content), sort_keys=True, separators=(",", ":"))
        return [name, "json", _digest(plain.encode())]
    return [name, "text", _digest(content)]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    WORK.mkdir(exist_ok=True)
    for name, log in logs().items():
        text = json.dumps(expectations(log), indent=1, sort_keys=True)
        (OUT / f"{name}.json").write_text(f"{text}\n")
        print(name)


if __name__ == "__main__":
    main()
