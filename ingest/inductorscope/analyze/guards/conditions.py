"""Finds conditions in a function's source that a future compile would guard on."""

import ast
from collections.abc import Iterator

from inductorscope.formats.sizes import KIB

LONGEST = 256 * KIB
_BRANCHES = (ast.If, ast.While, ast.For, ast.With, ast.Try, ast.Match)
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def conditions(source: str, line: int) -> list[ast.expr]:
    """Returns the conditions that every call of the function on this line reaches and that name
    unchanged arguments. Those with `and` or `or` are left out, because a guard is on a part of
    them."""
    if len(source) > LONGEST:
        return []
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == line:
                names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
                changed = {name.id for name in names if isinstance(name.ctx, ast.Store)}
                return [test for test in _reached(node.body) if _is_plain(test, changed)]
    return []


def _reached(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """Yields the conditions before the first branch that may leave the function."""
    for statement in body:
        if isinstance(statement, ast.If | ast.While | ast.Assert):
            yield statement.test
        elif not isinstance(statement, (*_BRANCHES, ast.FunctionDef, ast.ClassDef)):
            yield from _chosen(statement)
        if isinstance(statement, _BRANCHES) and any(
            isinstance(part, _ENDS) for part in ast.walk(statement)
        ):
            return


def _chosen(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yields the conditions of `a if condition else b`, without those nested in another one."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.IfExp):
            yield node.test
        elif not isinstance(node, ast.Lambda | ast.BoolOp | ast.comprehension):
            waiting += ast.iter_child_nodes(node)


def _is_plain(test: ast.expr, changed: set[str]) -> bool:
    return not any(
        isinstance(part, ast.BoolOp)
        or (isinstance(part, ast.Name) and (part.id in changed or part.id == "len"))
        for part in ast.walk(test)
    )
