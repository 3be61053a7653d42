"""Every page as Markdown: the same figures as its JSON twin, and nothing that breaks out."""

import re
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from inductorscope import urls
from inductorscope.agents.terse import terse
from inductorscope.cli.app import app, load_commands
from inductorscope.fields import HIDDEN, UNIT_OF_ROW, marks_of
from inductorscope.markdown.budget import fit, tokens
from inductorscope.markdown.figures import NAMED, UNITS
from inductorscope.markdown.text import block, code, plain, prose, table
from inductorscope.settings import Settings
from inductorscope.units import count, ratio, signed_percent
from inductorscope_server.pages.table import PAGES
from markdown_it import MarkdownIt
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tests.support.pages import OPENED

GRAPH = "model__0_inference_0.0"
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
FORMATS = [*(format for _, format in UNITS), ratio, count, signed_percent, NAMED["number"]]
COUNTED = re.compile(r"^\d+\. |\]\([^)]*\)|^\d+ more .*", re.M)
"""Numbers of list items, addresses, and how many rows are elsewhere."""


@pytest.fixture(scope="module")
def parts(filled: TestClient) -> dict[str, str]:
    run = str(filled.get("/api/").json()["runs"][0]["id"])
    kernel = filled.get(urls.api_graph(run, GRAPH, "explorer")).json()["kernels"][0]
    files = filled.get(f"/api{urls.read(run)}").json()["files"]
    log = next(str(file["artifact"]) for file in files if file["role"] == "trace_log")
    name = urls.kernel_key(kernel["name"], kernel["calls"][0]["handle"])
    return {"run": run, "other": run, "slug": GRAPH, "kernel": name, "number": "0", "artifact": log}


def leaves(value: Any) -> Iterator[str]:
    """Every text and number in a JSON value, as a page may write it."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from leaves(part)
    elif isinstance(value, list):
        yield str(len(value))
        for part in value:
            yield from leaves(part)
    elif isinstance(value, int | float):
        yield str(value)
        yield from (plain(format(value)) for format in FORMATS)
    elif value is not None:
        yield plain(str(value))


@pytest.mark.parametrize("path", [*OPENED, "/runs/{run}/graphs/{slug}?sel=post_grad:7"])
def test_a_page_as_markdown_has_the_figures_of_its_twin(
    filled: TestClient, parts: dict[str, str], path: str
) -> None:
    address, question, query = path.format(**parts).partition("?")
    written = filled.get(urls.markdown(address) + question + query)
    assert (written.status_code, written.headers["content-type"]) == (
        200, "text/markdown; charset=utf-8",
    )  # fmt: skip
    accepting = {"Accept": "text/markdown"}
    assert filled.get(address + question + query, headers=accepting).text == written.text
    twin = filled.get(f"/api{address}{question}{query}").json()
    known = {number for leaf in leaves(twin) for number in NUMBER.findall(leaf)}
    said = set(NUMBER.findall(COUNTED.sub("", written.text)))
    assert said <= known, sorted(said - known)
    for name in ("compiled_ms", "kernel_time_us", "time_us"):
        if isinstance(twin.get(name), float):
            assert any(plain(format(twin[name])) in written.text for format in FORMATS), name
    MarkdownIt("commonmark").enable("table").parse(written.text)


def parts_of(kind: Any) -> Iterator[Any]:
    """A type and those that it is made of."""
    yield kind
    for part in typing.get_args(kind):
        yield from parts_of(part)


def test_every_figure_has_a_unit() -> None:
    """By a mark of its field or by its name; whole numbers without one are counts and places."""
    left = [struct for page in PAGES for struct in (page.struct, page.twin_struct)]
    seen: set[type] = set()
    while left:
        struct = left.pop()
        if struct in seen:
            continue
        seen.add(struct)
        hints = typing.get_type_hints(struct)
        for name, marks in marks_of(struct).items():
            if HIDDEN in marks:
                continue
            kinds = list(parts_of(hints[name]))
            left += [
                kind
                for kind in kinds
                if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
            ]
            known = marks & {*NAMED, UNIT_OF_ROW} or any(
                re.fullmatch(pattern, name) for pattern, _ in UNITS
            )
            assert float not in kinds or known, f"{struct.__name__}.{name} needs a unit"
    assert len(seen) > 200


def test_what_is_not_there_is_said_in_markdown(filled: TestClient) -> None:
    answer = filled.get("/runs/0123456789abcdef/time.md")
    assert answer.status_code == 404
    assert answer.text.startswith("There is no run 0123456789abcdef here.")
    assert answer.headers["content-type"].startswith("text/markdown")


def test_programs_find_the_documentation(filled: TestClient) -> None:
    listed = filled.get("/llms.txt")
    assert all(page.summary in listed.text for page in PAGES)
    documents = re.findall(r"\]\(http://[^/]+(/docs/[^)]+)\)", listed.text)
    assert "/docs/decisions/0010-one-struct-a-page.md" in documents
    assert [document.rpartition("/")[2] for document in documents[:2]] == ["index.md", "tour.md"]
    for document in documents[:5]:
        assert filled.get(document).text.startswith("# ")
    page = filled.get("/docs/tour").text
    assert '<h2 id="memory">' in page
    assert '<a href="/docs/decisions/README">' in filled.get("/docs/architecture").text
    assert 'href="/docs/settings#' in filled.get("/docs", params={"q": "INDUCTORSCOPE_TOKEN"}).text
    documented = {row.doc for row in PAGES if row.doc}
    for path, _, part in (doc.partition("#") for doc in documented):
        text = filled.get(f"/docs/{path}").text
        assert not part or f'id="{part}"' in text, f"{path}#{part}"
    assert filled.get("/docs/../README.md").status_code == 404
    assert filled.get("/docs/%2e%2e/README.md").status_code == 404


HOSTILE = (
    "`", "``` ```", "a\n# b", "<script>", "[a](http://b)", "| a | b |", "\x1b[31m", "\u202eabc",
    "![x](y)", "**a**", "__init__", "a\\|b", "~~~\n```\n# c\n````",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_a_run_stay_quoted(text: str) -> None:
    parse = MarkdownIt("commonmark").enable("table").parse
    (_, name, _) = parse(f"a {code(text)}")
    assert {token.type for token in name.children or []} <= {"text", "code_inline"}
    fence = parse(f"{block(text, 'python')}\n\nafter")
    assert [token.type for token in fence][:2] == ["fence", "paragraph_open"]
    (_, sentence, _) = parse(f"a {prose(text)}")
    assert {token.type for token in sentence.children or []} <= {
        "text",
        "code_inline",
        "text_special",
    }
    cells = [token for token in parse("\n".join(table(["h"], [[code(text)], [prose(text)]])))
             if token.type == "td_open"]  # fmt: skip
    assert len(cells) == 2
    assert not re.search(r"[\x1b\u202e]", code(text) + block(text) + prose(text))


def test_a_text_fits_a_budget_and_says_what_it_leaves_out() -> None:
    rows = "\n".join(table(["a"], ([str(row)] for row in range(1000))))
    text = f"# Title\n\n## Rows\n\n{rows}\n\n## Code\n\n{block('x = 1' * 9000)}\n\n## Last\n\nend\n"
    for most in (200, 1000, 4000):
        cut = fit(text, most)
        assert tokens(cut) <= most
        assert cut.startswith("# Title")
        assert f"Left out to fit {most:,} tokens" in cut
        assert cut.count("```") % 2 == 0
    assert "… 960 more rows" in fit(text, 4000)
    assert fit(text, 10**6) == text


def test_an_agent_gets_an_answer_without_what_only_eyes_need() -> None:
    base = "http://127.0.0.1:8765/runs/0123456789abcdef"
    rows = [[f"[`k{row}`]({base}/graphs/g/kernels/k{row}:1)", f"[`x`]({base}/log)"]
            for row in range(30)]  # fmt: skip
    code = block(f"| --- | --- |\n**a** [`k`]({base}/k)")
    text = (
        f"# Run\n\n- **run**: [`0123456789abcdef`]({base})\n- **slow** it `**is**`\n"
        f"- [**why**]({base}/time#gaps) (measured)\n\n{chr(10).join(table('ab', rows))}\n\n{code}\n"
    )
    said = terse(text, rows=3).split("\n")
    assert said[0].endswith(f"Links continue {base}")
    assert said[4:8] == [
        "- run: `0123456789abcdef`", "- slow: it `**is**`", "- [why](/time#gaps) (measured)", ""
    ]  # fmt: skip
    assert said[8:14] == [
        "|a|b|", "|-|-|", *(f"|`k{row}`|[`x`](/log)|" for row in range(3)), "… 27 more rows"
    ]  # fmt: skip
    assert code in "\n".join(said)
    alone = f"# [Line]({base}/time)\n"
    assert alone in terse(alone)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "# Run `foo1`"),
        (["time"], "# Where the time goes"),
        (["kernel", "triton"], "# Kernel `triton_poi_fused"),
        (["explorer", "--line", "models.py:12"], "# Line `models.py:12`"),
        (["nothing"], "There is no page nothing."),
        (["kernel", "none"], "No kernel of run"),
        (["explorer", "--line", "models.py:0"], "models.py:0 names no line."),
        (["explorer", "--line", "other.py:1"], "No source file of this run is named"),
    ],
)
def test_show_prints_pages(
    filled: TestClient,
    filled_settings: Settings,
    parts: dict[str, str],
    asked: list[str],
    said: str,
) -> None:
    load_commands("show")
    data = ["--data", str(filled_settings.data)]
    printed = CliRunner().invoke(app, ["show", parts["run"][:6], *asked, *data])
    assert said in printed.output
