"""The playground by keyboard: type, compile, see, change, compare, share, open elsewhere."""

import re

import httpx
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from playwright.sync_api import Browser, Page, expect

from tests.support.accessible import check
from tests.support.places import FIXTURES
from tests.support.serving import Served

CODE = """import torch

def f(x, y):
    total = x + y
    return torch.relu(total) * 2

inputs = torch.randn(64, 64), torch.randn(64, 64)"""

PASTE = """text => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
  document.activeElement.dispatchEvent(event);
}"""


def compiled(page: Page) -> str:
    """Presses Ctrl-Enter and waits until another try is shown; returns its id."""
    main = page.locator("main.play")
    before = main.get_attribute("data-run")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".play-said")).not_to_contain_text("Compiling", timeout=120_000)
    assert "Shown after" in page.locator(".play-said").inner_text()
    run = main.get_attribute("data-run") or ""
    assert run not in ("", before)
    return run


def type_code(page: Page, code: str) -> None:
    """Replaces the code as pasting does."""
    page.locator(".play-editor .cm-content").focus()
    page.keyboard.press("Control+a")
    page.evaluate(PASTE, code)


def test_the_walk_by_keyboard(page: Page, chromium: Browser, playing: Served) -> None:
    page.goto(f"{playing.url}/play")
    expect(page.locator(".play-said")).to_contain_text("Ready", timeout=120_000)
    page.get_by_label("as I type").uncheck()
    type_code(page, CODE)
    first = compiled(page)
    lines = page.locator(".play-editor .cm-line")
    expect(lines.nth(3)).to_have_class(re.compile(r"tint-\d"))
    kernel = page.locator(".panes .cm-line.tint", has_text="tmp0 + tmp1")
    expect(kernel.first).to_be_visible()

    # A line of the editor lights what it became.
    page.keyboard.press("Control+Home")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(kernel.first).to_have_class(re.compile("lit"))

    # An error stands at its line, and the last good result stays.
    type_code(page, CODE.replace("total = x + y", "total = x + z"))
    page.keyboard.type("\n# 1 / 2?")  # keys of the page are letters here
    expect(page.locator(".play-editor")).to_contain_text("# 1 / 2?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".play-said")).to_have_text("failed Line 4: NameError.", timeout=60_000)
    expect(page.locator(".play-editor .compile-error")).to_contain_text("z")
    expect(kernel.first).to_be_visible()

    # Another option, beside the try before.
    page.locator(".play-options summary").click()
    page.get_by_label("cpp.simdlen").select_option("0")
    type_code(page, CODE)
    second = compiled(page)
    assert second != first
    beside = page.get_by_role("link", name="kernels side by side").get_attribute("href") or ""
    assert first in beside
    assert second in beside
    page.get_by_role("button", name="Keep").click()
    expect(page.locator(".play-said")).to_contain_text("Kept")
    check(page, "a try")

    # Names of torch are completed, and what is typed compiles by itself after a pause.
    page.get_by_label("as I type").check()
    type_code(page, CODE.replace("* 2", "* torch."))
    page.get_by_text("return torch.relu(total) * torch.").click()
    page.keyboard.press("End")
    page.keyboard.type("e")
    page.keyboard.type("xp")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("expm1")
    page.keyboard.press("Escape")
    page.keyboard.type("(x)")
    expect(page.locator(".panes")).to_contain_text("exp", timeout=60_000)
    expect(page.locator(".play-said")).to_contain_text("Shown after")
    third = page.locator("main.play").get_attribute("data-run") or ""
    assert third not in (first, second)

    # The link shows it all elsewhere, and the list of runs does not.
    other = chromium.new_context().new_page()
    other.goto(page.url)
    expect(other.locator(".play-editor .cm-line").nth(4)).to_contain_text("torch.exp(x)")
    expect(other.get_by_label("cpp.simdlen")).to_have_value("0")
    expect(other.locator(".panes")).to_contain_text("extern")
    other.goto(playing.url + beside)
    expect(other.locator(".beside-tally")).to_be_visible()
    other.context.close()
    listed = httpx.get(f"{playing.url}/api/", timeout=30).json()["runs"]
    tries = httpx.get(f"{playing.url}/api/?tries=1", timeout=30).json()["runs"]
    assert listed == []
    assert {run["id"] for run in tries} == {first, second, third}


def test_a_graph_is_forked_by_keyboard(page: Page, playing: Served) -> None:
    settings = Settings(playing.data, playing.database_url)
    run = read_paths(
        settings, [FIXTURES / "cuda-foo1"], name="foo1", tags=[], origin="upload",
        progress=lambda *_: None,
    ).run_id  # fmt: skip
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{playing.url}/runs/{run}/graphs/model__0_inference_0.0?sel=post_grad:4")
    expect(page.locator(".cm-line.origin").first).to_be_visible()
    page.keyboard.press("r")
    expect(page.locator(".play-said")).to_contain_text("Run it?", timeout=120_000)
    page.keyboard.press("Enter")
    expect(page.locator(".play-said")).to_contain_text("A call takes", timeout=120_000)
    original = page.locator("main.play").get_attribute("data-run")
    caret = page.locator(
        ".play-editor .cm-activeLine, .play-editor .cm-line", has_text="neg.default"
    )
    expect(caret.first).to_be_visible()
    page.keyboard.press("Shift+End")
    page.keyboard.type("    neg = torch.ops.aten.mul.Tensor(arg0_1, 3)")
    changed = compiled(page)
    assert changed != original
    expect(page.locator(".panes")).to_contain_text("3")
    expect(page.locator(".play-said")).to_contain_text("as forked")
    beside = page.get_by_role("link", name="kernels side by side").get_attribute("href") or ""
    assert f"left={run}/" in beside
    assert f"right={changed}/" in beside
    assert page.url.startswith(f"{playing.url}/play/{changed}")
    page.keyboard.press("Control+End")
    page.keyboard.type("\ndef g(x):\nreturn x")
    assert page.locator(".play-editor .cm-line").last.inner_text() == "    return x"
    page.get_by_label("as I type").uncheck()
    assert not [text for text in said if "style" in text.lower()]
    variants = httpx.get(f"{playing.url}/api/?tries=1&q=fork+of+{run}", timeout=30).json()["runs"]
    assert {row["id"] for row in variants} >= {original, changed}
    page.goto(f"{playing.url}/runs/{run}/kernels")
    page.locator("a[href*='/kernels/triton_']").first.click()
    fork = page.get_by_role("link", name="Fork").get_attribute("href") or ""
    assert fork == f"/runs/{run}/graphs/model__0_inference_0.0/fork"
