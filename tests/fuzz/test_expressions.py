"""No regular expression takes more than linear time, whatever the text.

A sample of an expression's texts runs here, always the same; all with `INDUCTORSCOPE_FUZZ_CASES`.
"""

import ast
import os
import random

from tests.fuzz.expressions import calls, expressions, modules, pumps, work, written
from tests.fuzz.growth import STEEP, growth

ASKED = "INDUCTORSCOPE_FUZZ_CASES" in os.environ
MOST = 20
"""Texts for an expression; some have hundreds, which are much alike."""
SMALL, LARGE = 2_000, 8_000
CHEAP = 400e-9 * SMALL
"""Seconds for a small text. Linear work takes 10 to 200 ns a character; squared work 1 ns for each
pair of them, so 1,000 ns."""
EVEN = 1.4
"""Work that `STEEP` rejects has some 1.6 times the cost of a character in the small text already,
compared with one an eighth as long: a search costs next to nothing apart from its text."""


def test_every_expression_takes_linear_time() -> None:
    steep = []
    for expression in expressions():
        use = work(expression)
        cases = pumps(expression.pattern)
        random.Random(None if ASKED else str(expression)).shuffle(cases)
        for pump in cases if ASKED else cases[:MOST]:
            ratio = growth(use, pump, SMALL, LARGE, CHEAP, even=EVEN)
            if ratio > STEEP:
                steep.append(f"{expression}: {ratio:.1f} for {pump}")
                break
    assert not steep, "\n".join(steep)


def test_no_expression_is_missing() -> None:
    """Whatever a module compiles is a constant that the test above finds, or a quoted word."""
    found = [expression.where.rpartition(".")[0] for expression in expressions()]
    for module in modules():
        inside = [call for call in calls(module) if written(module, call) is None]
        made = [call for call in inside if "re.escape(" not in ast.unparse(call)]
        assert len(made) <= found.count(module.__name__), module.__name__
