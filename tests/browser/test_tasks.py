"""What people come for: each task in as few clicks as promised, with the seconds it takes."""

import re
import time
from collections.abc import Callable

import pytest
from inductorscope_server.pages.table import PAGES
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.accessible import NARROW
from tests.support.explorer import Explorer
from tests.support.serving import Served


class Watch:
    """Counts the clicks of a task and stops its seconds."""

    def __init__(self, page: Page, record: Callable[[str, object], None]) -> None:
        self.page = page
        self.record = record
        self.clicks = 0
        self.start = time.monotonic()

    def click(self, on: Locator) -> None:
        on.click()
        self.clicks += 1

    def done(self, *, at_most: int) -> None:
        self.record("clicks", self.clicks)
        self.record("seconds", round(time.monotonic() - self.start, 2))
        assert self.clicks <= at_most


@pytest.fixture
def watch(page: Page, record_property: Callable[[str, object], None], zoo: Served) -> Watch:
    page.goto(zoo.url)
    return Watch(page, record_property)


def run_link(page: Page) -> Locator:
    return page.get_by_test_id("runs-table").get_by_role("link", name="cuda-foo1").first


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Pages of this run").get_by_role("link", name=name)


def view(page: Page, name: str) -> Locator:
    views = page.get_by_role("navigation", name="Views of Kernels")
    return views.get_by_role("link", name=name)


def follow(link: Locator) -> None:
    """Goes to where a task begins; it is no click of the task."""
    link.page.goto(link.evaluate("(link) => link.href"))


def test_the_dearest_line_and_its_kernel(watch: Watch) -> None:
    page = watch.page
    watch.click(run_link(page))
    watch.click(tab(page, "Explorer"))
    explorer = Explorer(page)
    assert all(explorer.lit(stage) for stage in ("source", "post_grad", "kernel"))
    expect(page.locator("#status")).to_contain_text(" a step")
    watch.done(at_most=2)


def test_why_two_kernels_are_not_one(watch: Watch) -> None:
    page = watch.page
    follow(page.get_by_test_id("runs-table").get_by_role("link", name="cpu-ops-zoo").first)
    watch.click(tab(page, "Kernels"))
    watch.click(view(page, "Not fused"))
    rows = page.get_by_test_id("unfused").locator("tbody tr")
    reason = rows.first.locator("td").last.inner_text().split("\n")[0]
    watch.done(at_most=3)
    one, other = (rows.first.locator(".cut").nth(at).get_attribute("title") for at in (0, 1))
    page.goto(f"{page.url}?a={other}&b={one}#unfused")  # where the explorer leads
    expect(rows.first).to_contain_text(reason)
    expect(page.get_by_test_id("loops")).to_contain_text("loop nests are vectorised")


def test_what_autotuning_chose_and_by_which_margin(watch: Watch) -> None:
    page = watch.page
    follow(page.get_by_test_id("runs-table").get_by_role("link", name="autotuned").first)
    watch.click(tab(page, "Kernels"))
    watch.click(view(page, "Autotuned"))
    row = page.get_by_test_id("tunings").locator("tbody tr").first
    expect(row).to_contain_text("mm")
    expect(row.locator(".block", has=page.locator(".chip.good"))).to_contain_text("µs")
    expect(row).to_contain_text("+15.4")
    watch.done(at_most=2)


def test_a_kernel_far_from_its_roof_and_its_test_case(watch: Watch) -> None:
    page = watch.page
    follow(run_link(page))
    watch.click(tab(page, "Kernels"))
    watch.click(view(page, "Roofline"))
    watch.click(page.get_by_test_id("roofline").locator("[title^=triton_poi]").first)
    code = page.locator(".kernel-code [data-stage=kernel] .cm-line")
    expect(code.filter(has_text="def triton_poi")).to_be_visible()
    with page.expect_download() as saved:
        watch.click(page.get_by_role("link", name="Download the test case"))
    assert "def eager(given):" in saved.value.path().read_text()
    watch.done(at_most=4)


def test_a_link_to_a_line_and_what_it_became(watch: Watch) -> None:
    page = watch.page
    follow(run_link(page))
    follow(tab(page, "Explorer"))
    explorer = Explorer(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    line = "torch.ops.aten.neg.default"
    watch.click(page.locator("[data-stage=post_grad] .cm-line", has_text="neg.default").first)
    explorer.expect_lit("source", ["a = torch.neg(x1)"])
    kernel = explorer.lit("kernel")
    watch.click(page.get_by_role("banner").get_by_role("button", name="Share"))
    watch.click(page.get_by_role("button", name="Copy a link"))
    expect(page.locator("#said")).to_have_text("Link copied.")
    watch.done(at_most=3)
    page.goto(page.evaluate("() => navigator.clipboard.readText()"))
    opened = Explorer(page)
    assert opened.lit("kernel") == kernel
    assert [text for text in opened.lit("post_grad") if line in text]


def test_on_a_phone_from_a_line_to_its_kernel_and_back(
    chromium: Browser, record_property: Callable[[str, object], None], zoo: Served
) -> None:
    context = chromium.new_context(viewport=NARROW, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(zoo.url)
    follow(run_link(page))
    follow(tab(page, "Explorer"))
    explorer = Explorer(page)
    watch = Watch(page, record_property)
    tabs = page.get_by_role("tablist", name="Panes")
    watch.click(page.locator("[data-stage=source] .cm-line", has_text="torch.maximum").first)
    watch.click(tabs.get_by_role("tab", name=re.compile(r"^Kernel( |$)")))
    expect(page.locator("[data-stage=kernel] .cm-line.lit").first).to_be_visible()
    assert explorer.lit("kernel")
    watch.click(tabs.get_by_role("tab", name="Source"))
    expect(page.locator("[data-stage=source] .cm-line.lit").first).to_be_visible()
    watch.done(at_most=4)
    context.close()


def test_what_differs_between_two_runs(watch: Watch) -> None:
    page = watch.page
    rows = page.get_by_test_id("runs-table").locator("tbody tr")
    for name in ("cuda-foo1", "cpu-ops-zoo"):
        watch.click(rows.filter(has_text=name).first.get_by_role("checkbox"))
    watch.click(page.get_by_role("button", name="Compare", exact=True))
    card = page.get_by_role(
        "link", name=re.compile(r"^Generated kernels \d+ → 1 \d+ of \d+ groups differ in code$")
    )
    foot = card.evaluate("(card) => card.getBoundingClientRect().bottom")
    assert foot < page.evaluate("innerHeight")
    watch.done(at_most=3)


def test_a_run_as_one_file(watch: Watch) -> None:
    page = watch.page
    follow(run_link(page))
    watch.click(page.get_by_role("banner").get_by_role("button", name="Share"))
    watch.click(page.locator("summary", has_text="Export"))
    with page.expect_download() as saved:
        watch.click(page.locator("#export").get_by_role("button", name="Export"))
    assert saved.value.path().read_bytes().startswith(b"<!doctype html>")
    watch.done(at_most=3)


Of = Callable[[str], Watch]


@pytest.fixture
def of(
    page: Page, record_property: Callable[[str, object], None],
    filled: tuple[Served, dict[str, str]],
) -> Of:  # fmt: skip
    """Starts a task on the list of runs, with the first click: on the run of this name."""

    def start(name: str) -> Watch:
        page.goto(filled[0].url)
        watch = Watch(page, record_property)
        watch.click(page.get_by_test_id("runs-table").get_by_role("link", name=name).first)
        return watch

    return start


def test_why_it_recompiles_and_what_to_write(of: Of) -> None:
    watch = of("dynamic")
    cause = watch.page.get_by_test_id("diagnosis").locator('[data-kind="recompiles"]')
    expect(cause.locator(".fix")).to_contain_text("mark_dynamic")
    watch.done(at_most=1)


def test_the_line_to_blame_for_a_failure(of: Of) -> None:
    watch = of("neg-does-not-compile")
    watch.click(tab(watch.page, "Failures"))
    expect(watch.page.locator(".cause")).to_contain_text("The cause is neg")
    watch.click(watch.page.locator("ol.way").last.locator("a").first)
    assert Explorer(watch.page).lit("source") == ["a = torch.neg(x1)"]
    watch.done(at_most=3)


def test_where_the_time_of_compiling_went(of: Of) -> None:
    watch = of("dynamic")
    watch.click(tab(watch.page, "Compiling"))
    views = watch.page.get_by_role("navigation", name="Views of Compiling")
    watch.click(views.get_by_role("link", name="Compile time"))
    phases = watch.page.get_by_role("region", name="Phases")
    expect(phases.locator("tbody tr").first).to_contain_text("%")
    watch.done(at_most=3)


def test_the_line_that_holds_most_memory(of: Of) -> None:
    watch = of("cuda-foo1")
    watch.click(tab(watch.page, "Memory"))
    watch.click(watch.page.locator("main table a", has_text="models.py:").first)
    assert any("torch." in line for line in Explorer(watch.page).lit("source"))
    watch.done(at_most=3)


def test_the_line_that_takes_longest(of: Of) -> None:
    watch = of("cuda-foo1")
    watch.click(tab(watch.page, "Time"))
    watch.click(watch.page.locator("main table a", has_text="models.py:").first)
    explorer = Explorer(watch.page)
    assert explorer.lit("source")
    assert explorer.lit("kernel")
    watch.done(at_most=3)


def test_what_could_not_be_read(of: Of) -> None:
    watch = of("cuda-foo1")
    watch.click(tab(watch.page, "Inputs"))
    expect(watch.page.get_by_test_id("read-in-short")).to_contain_text("all read")
    watch.done(at_most=2)


def test_a_word_that_some_kernel_has(watch: Watch) -> None:
    page = watch.page
    page.get_by_role("banner").get_by_role("combobox", name="Search").fill("tl.load(in_ptr0")
    page.keyboard.press("Enter")
    watch.click(page.locator(".found .lines a").first)
    assert any("tl.load(in_ptr0" in line for line in Explorer(page).lit("kernel"))
    watch.done(at_most=1)


@pytest.mark.parametrize("to", ["Playground", "Jobs", "Share"])
def test_on_a_phone_two_taps_lead_to(
    chromium: Browser, record_property: Callable[[str, object], None], zoo: Served, to: str
) -> None:
    context = chromium.new_context(viewport=NARROW, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(zoo.url)
    follow(run_link(page))
    watch = Watch(page, record_property)
    page.get_by_role("combobox", name="Search").focus()
    expect(page.get_by_text("page", exact=True).first).to_be_in_viewport(ratio=1)
    if to == "Share":
        watch.click(page.get_by_role("banner").get_by_role("button", name="Share"))
        expect(page.get_by_role("button", name="Copy a link")).to_be_in_viewport()
    else:
        watch.click(page.get_by_role("button", name="Menu"))
        watch.click(page.locator("#menu").get_by_role("link", name=to, exact=True))
        page.wait_for_url(re.compile("/play|/jobs"))
    watch.done(at_most=2)
    context.close()


@pytest.mark.parametrize("here", ["", "/play", "/docs/tour"])
def test_any_page_from_any_page(watch: Watch, zoo: Served, here: str) -> None:
    page = watch.page
    follow(run_link(page))
    if here:
        page.goto(zoo.url + here)
    watch.click(page.get_by_role("combobox", name="Search"))
    names = page.get_by_role("option").locator(".does").all_inner_texts()
    of_tab = {entry.tab: entry for entry in reversed(PAGES) if entry.tab not in {"", "Ranks"}}
    views = {entry.view for entry in PAGES if entry.tab in of_tab} - {""}
    firsts = {first.view for first in of_tab.values()}
    assert of_tab.keys() | (views - firsts) <= set(names)
    watch.click(page.get_by_role("option").filter(has_text="Roofline"))
    page.wait_for_url(re.compile("/roofline$"))
    watch.done(at_most=2)
    page.get_by_role("combobox", name="Search").fill("memory")  # a page's name goes to the page
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/memory$"))
