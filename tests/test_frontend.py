"""The front end's own unit tests, and rules that its templates keep."""

import re
import subprocess
import sys
from pathlib import Path

from inductorscope import urls

FRONT = Path(__file__).resolve().parent.parent / "frontend"
LONGEST_LINE = 140
MARKUP = "text taken as markup"
EXPRESSION = re.compile(r"\{[{%].*?[%}]\}", re.S)
BANNED = {
    "an inline script": re.compile(
        r"<script(?![^>]*\b(src=|type=\"application/json\"))[^>]*>", re.I
    ),
    "an inline style": re.compile(r"<style\b|\sstyle\s*=", re.I),
    "an inline handler": re.compile(r"\son[a-z]+\s*=|hx-on", re.I),
    "a script value": re.compile(r"=\s*[\"']\s*(js|javascript):", re.I),
    "a filtered trigger": re.compile(r"hx-trigger\s*=\s*[\"'][^\"']*\[", re.I),
    MARKUP: re.compile(r"\|\s*safe\b|Markup\("),
    "something of another host": re.compile(r"(src|href)\s*=\s*[\"'](https?:)?//", re.I),
}


def test_unit_tests_of_the_front_end() -> None:
    command = [sys.executable, str(FRONT.parent / "hatch_build.py"), "test"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"pass [1-9]", done.stdout), done.stdout


def test_templates_keep_the_content_policy() -> None:
    for template in (FRONT / "templates").rglob("*.html"):
        text = template.read_text()
        markup = EXPRESSION.sub("", text)  # arguments in a template's expressions are no attributes
        found = [
            what
            for what, pattern in BANNED.items()
            if pattern.search(text if what == MARKUP else markup)
            and (what, template.name) != (MARKUP, "docs.html")  # our own Markdown, rendered
        ]
        assert not found, f"{template.name} holds {', '.join(found)}"


def test_templates_have_lines_that_one_can_read() -> None:
    """A string in quotes counts as one character."""
    long = [
        f"{template.name}:{number}"
        for template in sorted((FRONT / "templates").rglob("*.html"))
        for number, line in enumerate(template.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE < len(re.sub(r'"[^"]{40,}"?', "s", line))
    ]
    assert not long


def test_templates_name_addresses_that_exist() -> None:
    texts = [template.read_text() for template in (FRONT / "templates").rglob("*.html")]
    named = {name for text in texts for name in re.findall(r"\burls\.(\w+)", text)}
    assert named - vars(urls).keys() == set()


def test_the_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (FRONT / "package-lock.json").read_text()


def test_the_check_sees_what_is_banned() -> None:
    for bad in ('<p style="x">', "<a onclick = 'f()'>", "<script>f()</script>"):
        markup = EXPRESSION.sub("", "{{ urls.x(style=1) }}" + bad)
        assert any(pattern.search(markup) for pattern in BANNED.values()), bad
