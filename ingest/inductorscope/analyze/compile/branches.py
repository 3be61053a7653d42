"""Rewrites a branch on a tensor's value without the branch, and finds where functions and loops
end."""

import ast
from collections.abc import Iterator

from inductorscope.formats.sizes import KIB

LONGEST = 512 * KIB
LONGEST_STATEMENT = 160


def without_branch(source: str, line: int) -> str | None:
    """Returns the statement that computes both sides of the branch on a line and chooses with
    torch.where; empty if a side is not one value; None if the line is no condition."""
    try:
        return _without_branch(source, line)
    except RecursionError:  # ast gives up on deeply nested code
        return ""


def _without_branch(source: str, line: int) -> str | None:
    found = None
    for body in _bodies(source):
        for at, statement in enumerate(body):
            if not statement.lineno <= line <= (statement.end_lineno or 0):
                continue
            written = None
            if isinstance(statement, ast.If | ast.While) and line <= (
                statement.test.end_lineno or 0
            ):
                found = ""
                if isinstance(statement, ast.If):
                    written = _if(statement, body[at + 1 : at + 2])
            elif isinstance(statement, ast.Assign | ast.Return) and isinstance(
                statement.value, ast.IfExp
            ):
                found, choice = "", statement.value
                written = _chosen(statement, choice.test, choice.body, choice.orelse)
            if written is not None:
                text = ast.unparse(written)
                return text if len(text) <= LONGEST_STATEMENT else ""
    return found


def ends_loop(source: str, line: int) -> bool:
    """Whether a line decides when a loop ends: by the condition of a `while`, or of a `break` or
    `return` inside of it, or by a variable that such a condition reads."""
    for loop in ast.walk(_parsed(source)):
        inside = [*ast.walk(loop)] if isinstance(loop, ast.For | ast.While) else []
        ends = [
            node
            for node in inside
            if isinstance(node, ast.While)
            or (isinstance(node, ast.If) and isinstance(node.body[-1], ast.Break | ast.Return))
        ]
        read = {ast.unparse(part) for statement in ends for part in ast.walk(statement.test)}
        tests = [(statement.lineno, statement.test.end_lineno) for statement in ends]
        sets = [statement for statement in inside if isinstance(statement, ast.Assign)]
        tests += [
            (statement.lineno, statement.end_lineno)
            for statement in sets
            if not read.isdisjoint(map(ast.unparse, statement.targets))
        ]
        if any(first <= line <= (last or 0) for first, last in tests):
            return True
    return False


def only_checks(source: str, line: int) -> bool:
    """Whether a line is an `assert`, or a condition on which only an error is raised."""
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.If):
            if node.lineno <= line <= (node.test.end_lineno or 0):
                return isinstance(node.body[-1], ast.Raise) and not node.orelse
        elif isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or 0):
            return True
    return False


def function_end(source: str, line: int) -> int | None:
    """Returns the last line of the innermost function around a line."""
    ends = [
        (node.lineno, node.end_lineno)
        for node in ast.walk(_parsed(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        <= line
        <= (node.end_lineno or 0)
    ]
    return max(ends)[1] if ends else None


def _parsed(source: str) -> ast.Module:
    if len(source) > LONGEST:
        return ast.Module([], [])
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _bodies(source: str) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(_parsed(source)):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield body


def _if(branch: ast.If, after: list[ast.stmt]) -> ast.stmt | None:
    """Handles a branch that assigns one name, or returns on both sides."""
    first, others = branch.body[0], branch.orelse or after
    if len(branch.body) != 1 or len(branch.orelse) > 1:
        return None
    other = others[0] if others else None
    if isinstance(first, ast.Return) and isinstance(other, ast.Return):
        return _chosen(first, branch.test, first.value, other.value)
    if not isinstance(first, ast.Assign) or not isinstance(first.targets[0], ast.Name):
        return None
    if not branch.orelse:
        before = ast.Name(first.targets[0].id, ast.Load())
        return _chosen(first, branch.test, first.value, before)
    if isinstance(other, ast.Assign) and ast.dump(other.targets[0]) == ast.dump(first.targets[0]):
        return _chosen(first, branch.test, first.value, other.value)
    return None


def _chosen(
    statement: ast.Assign | ast.Return, test: ast.expr, one: ast.expr | None, other: ast.expr | None
) -> ast.stmt | None:
    if (
        one is None
        or other is None
        or any(
            isinstance(part, ast.BoolOp | ast.Not | ast.Is | ast.IsNot | ast.In)
            for part in ast.walk(test)
        )
    ):
        return None
    where = ast.Call(
        ast.Attribute(ast.Name("torch", ast.Load()), "where", ast.Load()),
        [_OnDevice().visit(test), one, other], [],
    )  # fmt: skip
    if isinstance(statement, ast.Return):
        return ast.Return(where)
    return ast.copy_location(ast.Assign(statement.targets, where), statement)


class _OnDevice(ast.NodeTransformer):
    """Leaves out what takes a value from the device: `.item()`, `bool()`, `float()`, `int()`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:  # the name that ast calls
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "item" and not node.args:
            return function.value
        if isinstance(function, ast.Name) and function.id in ("bool", "float", "int"):
            return node.args[0] if len(node.args) == 1 else node
        return node
