"""Sources rebuilt from the comments of FX text."""

from __future__ import annotations

from inductorscope.formats.graph.source_map import rebuild_sources


def test_quoted_lines_are_kept_once() -> None:
    text = (
        "# File: /a.py:9 in f, code: a = torch.neg(x)\n"
        "# File: /a.py:10 in f, code: b = a + 1\r\n"
        "# File: /b.py:1 in <module>, code: f(1, 2)\n"
        "# File: /a.py:9 in f, code: something else\n"
    )
    assert rebuild_sources(text) == {
        "/a.py": {9: "a = torch.neg(x)", 10: "b = a + 1"},
        "/b.py": {1: "f(1, 2)"},
    }
