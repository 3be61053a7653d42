"""Writes a change into a program's source, where that takes few plain lines."""

import ast
import difflib
import re
from collections.abc import Iterator

from inductorscope.formats.change import Change

LOADER = "DataLoader"
Insertion = tuple[int, str]
"""After how many lines to insert a line, and its text, indented."""


def patch(path: str, source: str, change: Change) -> str:
    """Returns a unified diff of the program's file; empty if the change cannot be written so."""
    try:
        new = patched(source, change) or source
    except RecursionError:  # ast gives up on deeply nested code
        new = source
    before, after = source.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"))


def patched(source: str, change: Change) -> str | None:
    """Returns the source with the change; None if it cannot be written so."""
    if change.marks or change.regions or change.no_grad:
        return None
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    insertions = list(_settings(tree, change))
    if change.channels_last or change.optimizer:
        found = list(_beside_assignments(tree, change))
        if not found:
            return None
        insertions += found
    lines = source.splitlines(keepends=True)
    for named, given in _arguments(change).items():
        if given and not _argue(tree, lines, named, given):
            return None
    for after, line in sorted(insertions, key=lambda insertion: insertion[0], reverse=True):
        lines.insert(after, line)
    return "".join(lines)


def written(change: Change) -> list[str]:
    """Returns how to write a change, in lines."""
    lines = [
        f"{named}(…, {', '.join(f'{name}={value}' for name, value in given.items())})"
        for named, given in _arguments(change).items() if given
    ]  # fmt: skip
    lines += [
        f"torch._dynamo.mark_{mark.how}({mark.argument}, {mark.dimension})  # before each call of "
        f"{mark.function}"
        for mark in change.marks
    ]
    if change.no_grad:
        lines.append("with torch.no_grad(): …  # around calls of what is compiled")
    if change.optimizer:
        lines.append("optimizer.step = torch.compile(optimizer.step)")
    if change.channels_last:
        lines.append("model = model.to(memory_format=torch.channels_last)")
    if change.regions == "nested":
        lines.append("Block.forward = torch.compiler.nested_compile_region(Block.forward)")
    elif change.regions:
        lines.append(
            "for block in model.blocks: block.compile()  # instead of torch.compile(model)"
        )
    return lines + _setting_lines(change)


def _arguments(change: Change) -> dict[str, dict[str, str]]:
    """Returns the arguments of `torch.compile` and of data loaders."""
    wanted = {"mode": change.mode, "dynamic": change.dynamic}
    compiling = {name: repr(value) for name, value in wanted.items() if value is not None}
    loading = {"num_workers": str(change.workers), "persistent_workers": "True"}
    return {"torch.compile": compiling, LOADER: loading if change.workers else {}}


def _setting_lines(change: Change) -> list[str]:
    lines = []
    for module, values in (("_inductor", change.inductor), ("_dynamo", change.dynamo)):
        lines += [f"import torch.{module}.config"] if values else []
        lines += [f"torch.{module}.config.{key} = {text}" for key, text in values.items()]
    for kind, names in (("ignore", change.ignored), ("reorderable", change.reordered)):
        for name in names:
            module = name.rpartition(".")[0].partition(".")[0]
            lines.append(f"import torch._dynamo.config{module and ', '}{module}")
            lines.append(f"torch._dynamo.config.{kind}_logging_functions.add({name})")
    if change.float32_products:
        lines.append(f"torch.set_float32_matmul_precision({change.float32_products!r})")
    if change.threads:
        lines.append(f"torch.set_num_threads({change.threads})")
    return lines


def _settings(tree: ast.Module, change: Change) -> Iterator[Insertion]:
    """Yields lines that set options, in reverse order, behind the imports and the program's own."""
    lines = _setting_lines(change)
    own = ("import ", "from ", *(line.partition(" = ")[0].partition("(")[0] for line in lines))
    before = [node for node in tree.body if ast.unparse(node).startswith(own)]
    after = max((node.end_lineno or 0 for node in before), default=0)
    for line in reversed(lines):
        yield after, f"{line}\n"


def _beside_assignments(tree: ast.Module, change: Change) -> Iterator[Insertion]:
    """Yields lines before statements that compile a model, and after those that make an optimizer
    of torch."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        called, indent = ast.unparse(node.value.func), " " * node.col_offset
        target, given = ast.unparse(node.targets[0]), [*map(ast.unparse, node.value.args)]
        if change.channels_last and called == "torch.compile" and given:
            model = given[0]
            line = f"{indent}{model} = {model}.to(memory_format=torch.channels_last)\n"
            yield node.lineno - 1, line
        is_optimizer = called.startswith(("torch.optim.", "optim.")) and "lr_" not in called
        if change.optimizer and is_optimizer:
            line = f"{indent}{target}.step = torch.compile({target}.step)\n"
            yield node.end_lineno or node.lineno, line


def _argue(tree: ast.Module, lines: list[str], named: str, given: dict[str, str]) -> bool:
    """Gives each call of that name its new arguments; returns whether there is one, and each is
    written on one line."""
    calls = {node.func: node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name))
    names = [
        node for node in nodes
        if re.fullmatch(rf"(torch\.utils\.|data\.|utils\.)*{re.escape(named)}", ast.unparse(node))
        and (named != LOADER or _loads_itself(calls.get(node)))
    ]  # fmt: skip
    for node in names:
        call = calls.get(node)
        whole = call or node
        if whole.lineno != whole.end_lineno:
            return False
        own = [*map(ast.unparse, call.args)] if call else []
        dropped = {*given, "options"} if "mode" in given else {*given}
        own += [
            f"{keyword.arg}={ast.unparse(keyword.value)}"
            for keyword in (call.keywords if call else ())
            if keyword.arg not in dropped
        ]
        own += [f"{name}={text}" for name, text in given.items()]
        line = lines[whole.lineno - 1].encode()
        start, end = whole.col_offset, whole.end_col_offset
        changed = line[:start] + f"{ast.unparse(node)}({', '.join(own)})".encode() + line[end:]
        lines[whole.lineno - 1] = changed.decode()
    return bool(names)


def _loads_itself(call: ast.Call | None) -> bool:
    given = {word.arg: ast.unparse(word.value) for word in call.keywords} if call else {}
    return call is not None and given.get("num_workers", "0") == "0"
