"""A page is accessible and fits its window: wide and narrow, light and dark."""

import zlib
from collections.abc import Sequence

from playwright.sync_api import Page, ViewportSize

from tests.support.chromium import Scheme
from tests.support.places import ROOT

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
WIDE: ViewportSize = {"width": 1440, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 900}
SIZES = ("scrollable-region-focusable",)
"""axe's rules about sizes."""


def open_wide(page: Page, url: str) -> None:
    """Goes to a page, wide and light."""
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    page.goto(url)
    page.wait_for_load_state("load")


def paints(page: Page) -> dict[str, float]:
    """`lcp_ms`: when the largest content was painted. `cls`: how much the layout shifted (CLS)."""
    found = page.evaluate(
        """() => new Promise((done) => {
             const sums = { lcp_ms: 0, cls: 0 };
             const watch = (type, add) =>
               new PerformanceObserver((list) => list.getEntries().forEach(add))
                 .observe({ type, buffered: true });
             watch("largest-contentful-paint", (each) => { sums.lcp_ms = each.startTime; });
             watch("layout-shift", (each) => { sums.cls += each.hadRecentInput ? 0 : each.value; });
             setTimeout(() => done(sums), 50);
           })"""
    )
    return {name: round(float(value), 3) for name, value in found.items()}


def check(page: Page, where: str) -> None:
    """One visit: wide, then as narrow as a phone. Every other page is visited in the dark: pages
    share their colours, and looking at those is most of what axe does."""
    scheme: Scheme = "dark" if zlib.crc32(where.encode()) % 2 else "light"
    assert "Inductorscope" in page.title()
    page.emulate_media(color_scheme=scheme)
    assert_fits(page, f"{where}, wide")
    assert_no_violation(page, f"{where}, wide, {scheme}")
    page.set_viewport_size(NARROW)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
    assert_fits(page, f"{where}, narrow")
    assert_no_violation(page, f"{where}, narrow", SIZES)


def assert_fits(page: Page, where: str) -> None:
    """Nothing sticks out of the window."""
    wide = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], f"{where}: {wide[0]} px in a window of {wide[1]} px"


def assert_no_violation(page: Page, where: str, rules: Sequence[str] = ()) -> None:
    """axe finds nothing, by some of its rules or all."""
    violations = axe(page, rules)
    assert not violations, f"{where}: {violations}"


def axe(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds wrong on a page as it is now, by some of its rules or all."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text() + ";0")
    # No rule that runs needs styles fetched anew, and nobody reads the selectors.
    found = page.evaluate(
        """(rules) => axe.run(document, {
             resultTypes: ["violations"], preload: false, selectors: false,
             ...(rules.length && { runOnly: rules }),
           })""",
        list(rules),
    )
    return [
        f"{item['id']}: {item['help']}: {[node['html'][:120] for node in item['nodes'][:3]]}"
        for item in found["violations"]
    ]


def assert_keyboard_reaches_all(page: Page) -> None:
    """Tab goes to every control, each shows that it has the focus, and the last leads out."""
    controls = page.evaluate(
        """() => [
             ...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]"),
           ].filter((each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility())
             .map((each, at) => {
               each.dataset.control = at;
               return each.outerHTML.slice(0, 120);
             })"""
    )
    reached: set[int] = set()
    seen: set[str] = set()
    """A part that loads while one tabs replaces its controls by equal ones."""
    for _ in range(len(controls) + 20):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            """() => {
                 const has = document.activeElement;
                 const pane = has.closest(".pane:focus-within > .pane-body");
                 const shown = pane ? pane.previousElementSibling : has;
                 const { outlineStyle, boxShadow } = getComputedStyle(shown);
                 return has === document.body ? null : {
                   at: Number(has.dataset.control ?? -1), what: has.outerHTML.slice(0, 120),
                   shows: outlineStyle !== "none" || boxShadow !== "none",
                 };
               }"""
        )
        if focus is None:
            break
        assert focus["shows"], focus["what"]
        reached.add(focus["at"])
        seen.add(focus["what"])
    else:
        raise AssertionError("Tab never leaves the page")
    missed = [item for at, item in enumerate(controls) if at not in reached and item not in seen]
    assert not missed, missed
