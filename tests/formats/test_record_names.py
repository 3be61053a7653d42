"""Every record that the installed torch can write to a log is in the table of kinds."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest
from inductorscope.formats.log.kinds import ARTIFACTS, ENDINGS, KINDS, NAMED


def record_names(torch: Path) -> dict[tuple[bool, str], str]:
    """(whether it is an artifact, its name) → its first place. Parts of a name that only a run
    knows are `*`."""
    found: dict[tuple[bool, str], str] = {}
    calls: list[tuple[ast.Call, str]] = []
    takers: dict[str, int] = {}
    """Function → which of its arguments is the name of an artifact."""
    for path in sorted(torch.rglob("*.py")):
        text = path.read_text(errors="replace")
        if not re.search("trace_structured|artifact_name|_and_exec_source", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                calls.append((node, f"{path.relative_to(torch)}:{node.lineno}"))
            elif isinstance(node, ast.FunctionDef):
                arguments = [arg.arg for arg in node.args.args]
                if "artifact_name" in arguments and node.name != "getArtifactLogger":
                    takers[node.name] = arguments.index("artifact_name")
    for call, place in calls:
        for name in _named(call, takers):
            found.setdefault(name, place)
    return found


def _named(call: ast.Call, takers: dict[str, int]) -> list[tuple[bool, str]]:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    function = call.func.id if isinstance(call.func, ast.Name) else function
    names = [(True, _pattern(k.value)) for k in call.keywords if k.arg == "artifact_name"]
    at = takers.get(function, len(call.args))
    names += [(True, _pattern(arg)) for arg in call.args[at : at + 1]]
    if function in ("trace_structured", "dtrace_structured") and call.args:
        kind = _pattern(call.args[0])
        of_dict = [
            (True, _pattern(value))
            for node in ast.walk(call)
            if isinstance(node, ast.Dict)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and key.value == "name"
        ]
        names += of_dict if kind in NAMED else [(False, kind)]
    elif function == "trace_structured_artifact" and call.args:
        names.append((True, _pattern(call.args[0])))
    return [(artifact, name) for artifact, name in names if name.strip("*")]


def _pattern(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_pattern(value) for value in node.values)
    if isinstance(node, ast.BinOp):
        return _pattern(node.left) + _pattern(node.right)
    return "*"


def test_every_name_is_in_the_table() -> None:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("torch is not installed")
    names = record_names(Path(spec.origin).parent)
    assert len(names) > 60
    kinds, artifacts = ({kind.name for kind in table} for table in (KINDS, ARTIFACTS))
    endings = tuple(kind.name for kind in ENDINGS)
    missing = {
        name: place
        for (artifact, name), place in names.items()
        if not name.endswith(endings)
        and not any(
            re.fullmatch(re.escape(name).replace(r"\*", r"\w*"), known)
            for known in (artifacts if artifact else kinds)
        )
    }
    assert not missing
