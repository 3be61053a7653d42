"""What of a text stays when it is redacted."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inductorscope.reading.redacting import Redactor


@pytest.mark.parametrize(
    "code",
    [
        's = "a secret"\n',
        's = rb"a secret"\n',
        's = f"a secret {len(x)} and {x!r:>{y}}"\n',
        'x = 1\f\ny = "\f"\ns = """a secret\n"""\n',
        's = f"a secret {',
        's = "a secret \udcff"\n',
        "x = 1  # a secret\n",
        's = "a secret',
    ],
)
def test_source_that_stays_has_no_strings_and_comments(code: str) -> None:
    redactor = Redactor(keep=["m.py"])
    redactor.learn(code, "m.py", is_source=True)
    redacted = redactor.redact(code, "m.py", is_source=True)
    assert "secret" not in redacted
    assert redacted.count("\n") == code.count("\n")


def test_lines_of_source_go_wherever_they_stand() -> None:
    redactor = Redactor()
    redactor.learn("first = one(x)\f\n\f    second = other(x)\n", "m.py", is_source=True)
    text = json.dumps({"text": "x\n  second = other(x)\n"})
    assert "other" not in redactor.redact(text, "a.json", is_source=False)


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("HOME=/root/net\nexport A_B=c d\n", "HOME=(redacted)\nexport A_B=(redacted)\n"),
        ("environ({'A': '/', 'X': \"it's\"})", "environ({'A': '(redacted)', 'X': \"(redacted)\"})"),
        ("Namespace(lr=0.1, name='x')", "Namespace(lr=(redacted), name='(redacted)')"),
        ('{"a": "LANG=C\\nNamespace(a=1)"}', '{"a": "LANG=(redacted)\\nNamespace(a=(redacted))"}'),
        ("BLOCK_M=64, BLOCK_N=32\n", "BLOCK_M=64, BLOCK_N=32\n"),
    ],
)  # fmt: skip
def test_values_of_the_environment_and_of_arguments_go(text: str, redacted: str) -> None:
    assert Redactor().redact(text, "a.txt", is_source=False) == redacted


PIECES = ('{"str": ["', '", 1]}', '"filename": 1', '"loc": "', '"', "\\", "{", "}", "/home/al/m.py",
          'File "', '", line 7\n', "\n", "al", "ſ", "S", "{'", '"""', 'f"', "\f", "x")  # fmt: skip


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES)), st.booleans())
def test_damaged_texts_do_not_raise(pieces: list[str], is_source: bool) -> None:
    text = "".join(pieces)
    redactor = Redactor(keep=["m.py"], hide=["s"])
    redactor.learn("/home/al/", "a.txt", is_source=False)
    redactor.learn(text, "m.py", is_source=is_source)
    redactor.redact(text, "m.py", is_source=is_source)
