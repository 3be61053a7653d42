"""Guards evaluated for shapes that nobody ran."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.guards.conditions import conditions
from inductorscope.analyze.guards.forecast import forecast
from inductorscope.analyze.guards.values import examine
from inductorscope.formats.call_shapes import Value, read_shapes
from inductorscope.formats.log.guard_tree import read_guard_tree

CHECK = "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, "
STATIC = f"+- TENSOR_MATCH: {CHECK}requires_grad=False, size=[4, 8], stride=[8, 1])"
DYNAMIC = f"+- TENSOR_MATCH: {CHECK}requires_grad=False, size=[None, 8], stride=[8, 1])"
AT_LEAST_2 = "+- LAMBDA_GUARD: 2 <= L['x'].size()[0]  # y = x + 1  # m.py:3 in f"


@pytest.mark.parametrize(
    ("guards", "values", "serves", "why"),
    [
        (STATIC, "x=(4,8)", True, ""),
        (STATIC, "x=(5,8)", False, "x.size(0) == 4, and it is 5"),
        (STATIC, "x=(4,8,1)", False, "x has 2 dimensions, and here 3"),
        (f"{DYNAMIC}\n{AT_LEAST_2}", "x=(5,8)", True, ""),
        (f"{DYNAMIC}\n{AT_LEAST_2}", "x=(1,8)", False, "2 <= x.size(0), and x is (1, 8)"),
        ("+- FALSE_MATCH: L['n'] == False", "n=True", False, "n == False, and n is True"),
        ("+- EQUALS_MATCH: L['n'] == 3", "n=4", False, "n == 3, and n is 4"),
        ("+- LAMBDA_GUARD: Eq(Mod(8*L['x'].size()[0], 16), 0)", "x=(3,8)", False, None),
        ("+- LAMBDA_GUARD: Eq(L['x'].size()[1], L['y'].size()[0])", "x=(3,8);y=(8,2)", True, ""),
        ("+- LAMBDA_GUARD: ((L['x'].size()[0] // 2) % 3) != 0 and not False", "x=(4,1)", True, ""),
        ("+- LAMBDA_GUARD: Eq(L['x'].size()[0], L['z'].size()[0])", "x=(3,8)", None, ""),
        ("+- LAMBDA_GUARD: L['x'].size()[0] == 4 or L['z'] == 1", "x=(4,1)", True, ""),
        ("+- LAMBDA_GUARD: __import__('os').system(L['x'])", "x=(4,1)", None, ""),
        ("+- LAMBDA_GUARD: 9**9**9**9 > L['n']", "n=4", None, ""),
        ("+- LAMBDA_GUARD: 'a' * 10**10 != L['n']", "n=4", None, ""),
        ("+- LAMBDA_GUARD: '%999999999d' % 1 != L['n']", "n=4", None, ""),
        ("+- NO_SUCH_KIND: L['n']", "n=4", None, ""),
        ("+- LAMBDA_GUARD: L['x'].size(9) == 4", "x=(4,1)", None, ""),
        ("+- GLOBAL_STATE: ___check_global_state()", "n=4", True, ""),
    ],
)
def test_guards_are_evaluated(guards: str, values: str, serves: bool | None, why: str) -> None:
    verdict = examine(read_guard_tree(guards), read_shapes(values).calls[0])
    assert verdict.serves is serves
    if why is not None:
        assert (verdict.failed.text if verdict.failed else "") == why


@given(st.text(max_size=60))
def test_any_text_is_evaluated_or_unknown(text: str) -> None:
    tree = read_guard_tree(f"+- LAMBDA_GUARD: L['x'].size()[0] == {text}")
    examine(tree, {"x": (2, 3)})


def served(values: str, *guards: str, source: str = "") -> list[str]:
    compiles = [(f"0/{at}", read_guard_tree(guard)) for at, guard in enumerate(guards)]
    calls = read_shapes(values).calls
    return [call.by for call in forecast(compiles, calls, conditions=conditions(source, 2)).calls]


def test_a_list_of_shapes_compiles_as_automatic_dynamic_shapes_do() -> None:
    assert served("x=(4,8),(5,8),(6,8),(1,8),(6,9)", STATIC) == [
        "0/0", "new compile 1", "new compile 1", "new compile 2", "new compile 3",
    ]  # fmt: skip
    assert served("x=(9,8),(4,8)", STATIC, f"{DYNAMIC}\n{AT_LEAST_2}") == ["0/1", "0/1"]
    # With another number of dimensions, all sizes become dynamic.
    assert served("x=(4,8,2),(3,9,3),(6,7)", STATIC) == [
        "new compile 1", "new compile 1", "new compile 2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "by"),
    [
        ("return x + 1", 1),
        ("return x if x.shape[0] % 4 == 0 else x + 1", 2),
        ("return x if x.size(0) == n else x + 1", 2),
        ("if x.shape[0] > 6:\n    x = x + 1", 1),  # not the argument as it came
        ("if x.shape[0] > 6:\n    return x\n  if x.shape[0] % 4:\n    return x", 2),
        ("if n > 6 and x.shape[0] > 6:\n    return x", 1),
    ],
)
def test_new_compiles_guard_on_conditions_of_the_program(body: str, by: int) -> None:
    source = f"import torch\ndef f(x, n):\n  {body}\n"
    found = served("x=(6,8),(8,8);n=8", STATIC, source=source)
    assert found == ["new compile 1", f"new compile {by}"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("x=(8,128),(9,128)", [{"x": (8, 128)}, {"x": (9, 128)}]),
        ("x=(8,),(9,); n=2", [{"x": (8,), "n": 2}, {"x": (9,), "n": 2}]),
        ("", []),
    ],
)
def test_shapes_are_read(text: str, read: list[dict[str, Value]]) -> None:
    assert read_shapes(text).calls == read


@pytest.mark.parametrize(
    "text", ["(8,128)", "x=", "x=(8,'a')", "x=f()", "x=1,2;y=1,2,3", "x=(-1,)"]
)
def test_other_shapes_are_refused_with_a_sentence(text: str) -> None:
    assert read_shapes(text).problem.endswith(".")
