"""The explorer page as a person uses it: panes, lines, what is lit."""

from functools import cache

import httpx
from inductorscope import urls
from playwright.sync_api import Page, expect

from tests.support.serving import Served


@cache
def graph_address(server: str, name: str) -> str:
    """The address of the first graph of the run with this name."""
    runs = httpx.get(f"{server}/api/", timeout=30).json()["runs"]
    run = next(run["id"] for run in runs if run["name"] == name)
    graphs = httpx.get(f"{server}/api/runs/{run}", timeout=30).json()["graphs"]
    return server + urls.graph(run, graphs[0]["slug"])


class Explorer:
    """Speaks to the page through what is on it; the `window.inductorscope.explorer` handle is only
    asked for text and state that virtual scrolling keeps out of the document."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.wait_for_function(
            "() => window.inductorscope?.explorer?.ready === true", timeout=30_000
        )

    def line_of(self, stage: str, text: str) -> int:
        line = self.page.evaluate(
            "([stage, text]) => window.inductorscope.explorer.find(stage, text)[0] ?? 0",
            [stage, text],
        )
        assert line, f"no line of {stage} holds {text!r}"
        return int(line)

    def click_line(self, stage: str, text: str) -> None:
        """Bring the line into view, then really click on it."""
        line = self.line_of(stage, text)
        self.page.evaluate(
            "([stage, line]) => window.inductorscope.explorer.reveal(stage, line)", [stage, line]
        )
        found = self.page.locator(f"[data-stage={stage}] .cm-line", has_text=text).first
        found.click(position={"x": 8, "y": 8})  # at its middle, a wide line would scroll sideways

    def lit(self, stage: str) -> list[str]:
        """The lit lines of a pane, without their indentation."""
        lines = self.page.evaluate(
            """(stage) => window.inductorscope.explorer.linesLit(stage)
                 .map((line) => window.inductorscope.explorer.text(stage, line).trim())""",
            stage,
        )
        return [str(line) for line in lines]

    def expect_lit(self, stage: str, wanted: list[str]) -> None:
        self.page.wait_for_function(
            """([stage, wanted]) => {
                 const explorer = window.inductorscope.explorer;
                 const lit = explorer.linesLit(stage).map((line) => explorer.text(stage, line));
                 return JSON.stringify(lit.map((text) => text.trim())) === wanted;
               }""",
            arg=[stage, _json(wanted)],
        )

    def focus_pane_by_keyboard(self, stage: str) -> None:
        self.page.locator(f'[data-stage="{stage}"] .cm-content').wait_for()
        for _ in range(40):
            inside = self.page.evaluate(
                """(stage) => {
                     const focused = document.activeElement;
                     return focused?.closest("[data-stage]")?.dataset.stage === stage
                       && focused.classList.contains("cm-content");
                   }""",
                stage,
            )
            if inside:
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never reached the text of pane {stage}")

    def cursor_text(self, stage: str) -> str:
        text = self.page.evaluate(
            "(stage) => window.inductorscope.explorer.cursorText(stage)", stage
        )
        return str(text)

    def kernels(self) -> list[str]:
        items = self.page.locator("[data-kernel]")
        expect(items.first).to_be_visible()
        return [
            str(name) for name in items.evaluate_all("(all) => all.map((e) => e.dataset.kernel)")
        ]


def open_graph(page: Page, served: Served, name: str, query: str = "") -> Explorer:
    """Opens the explorer of the first graph of the run with this name."""
    page.goto(graph_address(served.url, name) + query)
    return Explorer(page)


def _json(value: list[str]) -> str:
    import json

    return json.dumps(value, separators=(",", ":"))
