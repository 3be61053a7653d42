"""Moving about in the explorer: ranges, walks over kernels, search, folds, filters, the chain."""

import re
from pathlib import Path

from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from playwright.sync_api import Page, expect

from tests.support.accessible import axe, check
from tests.support.explorer import Explorer, graph_address, open_graph
from tests.support.serving import Served


def test_a_source_line_named_as_entity_lights_all_that_comes_from_it(
    page: Page, zoo: Served
) -> None:
    explorer = open_graph(page, zoo, "cuda-foo1", "?sel=src:models.py:9")
    assert explorer.lit("source") == ["a = torch.neg(x1)"]
    assert [line for line in explorer.lit("post_grad") if "aten.neg" in line]
    assert "tmp2 = -tmp1" in explorer.lit("kernel")


def test_shift_click_keeps_a_range_that_a_link_opens_again(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cuda-foo1")
    first = explorer.line_of("post_grad", "torch.ops.aten.neg.default")
    last = explorer.line_of("post_grad", "torch.ops.aten.maximum.default")
    explorer.click_line("post_grad", "torch.ops.aten.neg.default")
    page.locator("[data-stage=post_grad] .cm-line", has_text="aten.maximum").first.click(
        modifiers=["Shift"]
    )
    both = ["a = torch.neg(x1)", "b = torch.maximum(x2, a)"]
    explorer.expect_lit("source", both)
    page.wait_for_url(f"**sel=post_grad:{first}-{last}")
    page.mouse.move(0, 0)  # what the mouse points at is previewed
    expect(page.locator("#status")).to_contain_text(f"lines {first}–{last}")
    page.reload()
    assert Explorer(page).lit("source") == both


def test_n_walks_on_into_the_next_kernel(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cpu-ops-zoo", "?panes=post_grad,kernel")
    # An embedding that three kernels read.
    explorer.click_line("post_grad", "torch.ops.aten.embedding.default")
    explorer.focus_pane_by_keyboard("kernel")
    shown = set()
    for _ in range(200):
        page.keyboard.press("n")
        page.wait_for_function("() => document.querySelector('.cm-line.current') !== null")
        shown.add(page.locator("[data-stage=kernel] .about .cut").get_attribute("title"))
        if len(shown) > 1 or "match" not in page.locator("#status").inner_text():
            break
    assert len(shown) == 2
    assert explorer.lit("kernel")


def test_the_search_box_finds_nodes_of_the_open_graph(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cuda-foo1")
    page.keyboard.press("Control+k")
    page.keyboard.type("maximum")
    options = page.get_by_role("listbox", name="Found").get_by_role("option")
    expect(options.first).to_contain_text("triton_poi_fused")
    expect(options.nth(1)).to_contain_text("FX node")
    assert axe(page) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    explorer.expect_lit("source", ["b = torch.maximum(x2, a)"])
    page.wait_for_url("**sel=fx:maximum")
    expect(options.first).to_be_hidden()
    # Enter takes the first hit, and commands are among them with their keys.
    page.keyboard.press("Control+k")
    page.keyboard.type("wrap long")
    expect(options.first).to_contain_text("command")
    expect(options.first.locator("kbd")).to_have_text("w")
    page.keyboard.press("Enter")
    expect(page.locator(".cm-lineWrapping").first).to_be_visible()


def test_what_the_graph_does_not_know_is_searched_among_the_runs(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cuda-foo1")
    page.keyboard.press("Control+k")
    page.keyboard.type("zoo")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"\?q=zoo"))
    expect(page.get_by_role("main").get_by_role("link", name="cpu-ops-zoo")).to_be_visible()


def test_o_folds_all_that_does_not_light(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cpu-ops-zoo", "?panes=post_grad,ir_post")
    explorer.click_line("post_grad", "torch.ops.aten.embedding.default")
    lines = page.locator("[data-stage=ir_post] .cm-line")
    page.keyboard.press("o")
    expect(page.locator("[data-stage=ir_post] .folded.run").first).to_be_visible()
    lit = explorer.lit("ir_post")
    # Two lines around each stay, and a mark for each run of the others.
    assert lines.count() <= 6 * len(lit) + 6
    page.keyboard.press("o")
    expect(lines.nth(30)).to_be_attached()


def test_kernels_are_filtered_by_words_and_by_the_selection(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cpu-ops-zoo")
    names = page.locator("[data-kernel]:visible")
    everything = names.count()
    page.keyboard.press("k")
    page.keyboard.type("dropout")
    expect(names).to_have_count(1)
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(names).to_have_count(everything)
    explorer.click_line("post_grad", "torch.ops.aten.embedding.default")
    page.get_by_label("Kind of kernels").select_option("of the selection")
    some = names.count()
    assert 0 < some < everything
    assert page.locator("[data-kernel].matched:visible").count() == some


def test_annotated_code_is_offered_where_code_is_read(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cuda-foo1")
    with page.expect_download() as download:
        page.get_by_role("link", name="Annotated code").click()
    text = Path(download.value.path()).read_text()
    assert "# Corresponding FX code line: neg = torch.ops.aten.neg.default(arg0_1)" in text
    assert download.value.suggested_filename == "output_code.annotated.py"


def test_the_chain_is_readable_and_accessible(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cuda-foo1", "?sel=fx:neg")
    expect(page.locator(".chain-step").first).to_contain_text("models.py:9")
    check(page, "chain")


def test_on_a_narrow_page_a_pane_behind_a_tab_shows_its_lines_from_their_beginning(
    page: Page, zoo: Served
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    explorer = open_graph(page, zoo, "cpu-ops-zoo")
    nodes = page.evaluate(
        "() => window.inductorscope.explorer.find('post_grad', 'torch.ops.aten.')"
    )
    tabs = page.locator(".pane-tabs button")
    kernels = set()
    for line in nodes[::10]:
        tabs.get_by_text("FX post-grad").click()
        page.evaluate("(line) => window.inductorscope.explorer.selectLine('post_grad', line)", line)
        tabs.filter(has_text=re.compile(r"^Kernel\b")).click()
        if not explorer.lit("kernel"):
            continue
        kernels.add(page.locator("[data-stage=kernel] .about").inner_text())
        page.wait_for_function(
            """() => {
                 const pane = document.querySelector("[data-stage=kernel] .cm-scroller");
                 const { top, bottom } = pane.getBoundingClientRect();
                 return [...pane.querySelectorAll(".cm-line.lit")]
                   .map((line) => line.getBoundingClientRect())
                   .some((line) => line.top >= top && line.bottom <= bottom);
               }"""
        )
        scroller = page.locator("[data-stage=kernel] .cm-scroller")
        assert scroller.evaluate("(pane) => pane.scrollLeft") == 0
    assert len(kernels) > 3

    # By keyboard: the tab that was pressed is still the one with the focus.
    tabs.get_by_text("Source").press("Enter")
    expect(tabs.get_by_text("Source")).to_have_attribute("aria-selected", "true")
    expect(tabs.get_by_text("Source")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(tabs.get_by_text("Kernels")).to_be_focused()
    assert axe(page) == []


def test_a_graph_that_is_not_there_leads_to_those_that_are(page: Page, zoo: Served) -> None:
    run = graph_address(zoo.url, "cuda-foo1").partition("/graphs/")[0]
    answer = page.goto(f"{run}/graphs/nothing")
    assert answer is not None
    assert answer.status == 404
    page.get_by_role("alert").get_by_role("link").click()
    page.wait_for_url(run)
    expect(page.locator("a[href*='/graphs/']").first).to_be_visible()


def test_two_stages_are_compared_with_their_lines_kept_level(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cpu-ops-zoo", "?panes=readable,post_grad,kernel")
    page.get_by_role("button", name="Compare this pane with").first.click()
    page.get_by_role("button", name="The pane on the right").click()
    status = page.locator("#status")
    expect(status).to_contain_text("FX received beside FX post-grad")
    expect(status).to_contain_text(" moved")
    page.wait_for_url("**compare=1**")
    assert axe(page) == []

    # A node that a pass moved is marked so on each side; all others stand level.
    tops = """() => ["readable", "post_grad"].map((stage) => Object.fromEntries(
        [...document.querySelectorAll(`[data-stage=${stage}] .cm-line`)].flatMap(
          (line) => {
            if (line.matches(".level-only, .level-moved")) return [];
            const named = /^ *(\\w+): "/.exec(line.textContent);
            return named ? [[named[1], Math.round(line.getBoundingClientRect().top)]] : [];
          })))"""
    for scroll in (0, 400, 900):
        page.evaluate(
            """(top) => {
                 document.querySelector("[data-stage=readable] .cm-scroller").scrollTop = top;
               }""",
            scroll,
        )
        page.wait_for_function(
            """() => {
                 const [left, right] = ["readable", "post_grad"].map((stage) =>
                   document.querySelector(`[data-stage=${stage}] .cm-scroller`).scrollTop);
                 return Math.abs(left - right) <= 1;
               }"""
        )
        left, right = page.evaluate(tops)
        shared = left.keys() & right.keys()
        assert len(shared) > 5
        assert [name for name in shared if abs(left[name] - right[name]) > 1] == []

    page.reload()
    Explorer(page)
    expect(status).to_contain_text("FX received beside FX post-grad")
    page.keyboard.press("d")
    expect(page.locator(".level-changed, .level-only, .level-moved")).to_have_count(0)


def test_passes_are_a_row_of_steps_with_what_each_changed(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cuda-foo1")
    steps = page.get_by_role("navigation", name="Passes").get_by_role("button")
    expect(steps).to_have_text([
        "Dynamo graph", "FX pre-grad =", "FX after pre-grad =",
        re.compile("FX from AOTAutograd .+"), re.compile("FX before joint .+"),
        "FX after joint +1 −2", "FX received =", "FX post-grad =",
        "IR pre-fusion", re.compile("IR post-fusion .+"),
    ])  # fmt: skip
    # The pass that removes a clone, by keyboard.
    step = steps.filter(has_text="after joint")
    step.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**panes=joint_before,joint_after**compare=1**")
    status = page.locator("#status")
    expect(status).to_contain_text("FX before joint beside FX after joint")
    expect(page.locator(".level-only").filter(has_text="clone:")).to_be_visible()
    expect(step).to_be_focused()
    assert axe(page) == []
    page.reload()
    Explorer(page)
    expect(step).to_have_attribute("aria-pressed", "true")
    expect(status).to_contain_text("FX before joint beside FX after joint")
    page.go_back()
    expect(step).to_have_attribute("aria-pressed", "false")


def test_how_links_are_known_is_told_on_request(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cuda-foo1", "?panes=source,dynamo,post_grad,kernel")
    explorer.click_line("post_grad", "torch.ops.aten.neg.default")
    page.keyboard.press("e")
    note = page.get_by_role("dialog", name="How this is known")
    expect(note).to_contain_text("The stack comment of neg names this line.")
    expect(note).to_contain_text("Inductor recorded that neg came from this node")
    # Of the kernel's lines the engine that linked them tells its own reasons.
    kernel = note.locator("li", has_text="tmp2 = -tmp1")
    expect(kernel).to_contain_text("inferred")
    expect(kernel).to_contain_text("neg")
    assert axe(page) == []
    row = note.get_by_role("button", name="Dynamo graph")
    row.focus()
    page.keyboard.press("Enter")
    expect(note).to_be_hidden()
    assert "a: " in explorer.cursor_text("dynamo")
    expect(page.get_by_role("region", name="Dynamo").locator("li")).to_contain_text("a torch.neg")


def test_a_shared_link_shows_the_same_lines_and_widths(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cuda-foo1")
    page.get_by_role("separator").first.press("ArrowRight")
    wrapper = page.locator(".pane").last
    wrapper.locator(".cm-scroller").evaluate("it => it.scrollTo(0, it.scrollHeight / 2)")
    page.get_by_role("banner").get_by_role("button", name="Share").click()
    page.locator("#share").click()
    expect(page).to_have_url(re.compile("width=.*middle="))

    def seen() -> list[list[int]]:
        shown: list[list[int]] = page.locator(".pane").evaluate_all(
            """panes => panes.map((pane) => {
              const box = pane.querySelector(".cm-scroller");
              return [Math.round(box.scrollTop / 20), Math.round(pane.clientWidth / 10)];
            })"""
        )
        return shown

    before, address = seen(), page.url
    page.goto("about:blank")
    page.goto(address)
    Explorer(page)
    assert seen() == before
    page.locator(".pane").first.get_by_role("button", name="Close pane").click()
    page.goto(address.partition("?")[0])
    Explorer(page)
    expect(page.locator(".pane")).to_have_count(len(before) - 1)


def test_one_instance_of_a_region_is_chosen_by_list_key_and_link(
    page: Page, server: Served, shared: Path
) -> None:
    read_paths(
        Settings(data=server.data, database_url=""), [shared / "regions" / "t214reg"],
        name="region", tags=[], origin="ingest", progress=lambda *_: None,
    )  # fmt: skip
    open_graph(page, server, "region")
    page.locator("[data-kernel='extern_kernels.addmm']").click()
    status, picker = page.locator("#status .what"), page.get_by_label("Instance")
    time = page.locator("[data-kernel='extern_kernels.addmm'] .time")
    expect(status).to_contain_text("103\u202fms a step")
    expect(status).to_contain_text("4 instances, 5.89\u202fms to 52.4\u202fms")
    expect(time).to_have_text("100\u202f%")
    picker.select_option("3: 5.89\u202fms")
    expect(status).to_contain_text("5.89\u202fms in instance 3 of 4")
    expect(time).to_have_text("5.89\u202fms")
    page.wait_for_url("**instance=3**")
    page.locator(".kernels").focus()
    page.keyboard.press("i")
    page.wait_for_url("**instance=4**")
    expect(status).to_contain_text("52.4\u202fms in instance 4 of 4")
    page.reload()
    Explorer(page)
    expect(picker).to_have_value("4")
    expect(status).to_contain_text("52.4\u202fms in instance 4 of 4")
    assert axe(page) == []
    page.locator(".kernels").focus()
    page.keyboard.press("i")
    expect(picker).to_have_value("0")
    assert "instance=" not in page.url


def test_equal_graphs_are_one_with_instances(page: Page, server: Served, fixtures: Path) -> None:
    """Four layers, compiled one by one to the same code, and a trace of them."""
    read_paths(
        Settings(data=server.data, database_url=""), [fixtures / "equal-layers.tar.xz"],
        name="layers", tags=[], origin="ingest", progress=lambda *_: None,
    )  # fmt: skip
    open_graph(page, server, "layers", "?sel=source:layers.py:14")
    status, picker = page.locator("#status .what"), page.get_by_label("Instance")
    expect(picker.locator("option")).to_have_text(
        [
            "all 4: 11.2\u202fms",
            "0_inference [0/0]: 196\u202fµs",
            "0_inference [0/1]: 148\u202fµs",
            "0_inference [0/2]: 154\u202fµs",
            "0_inference [0/3]: 10.7\u202fms",
        ]
    )
    expect(page.locator(".graph-links a:visible")).to_have_text(["0_inference [0/0]"])
    expect(status).to_contain_text("4 instances, 148\u202fµs to 10.7\u202fms")
    picker.select_option("0_inference [0/2]: 154\u202fµs")
    page.wait_for_url("**/0_inference-0-2?**instance=3**")
    explorer = Explorer(page)
    expect(status).to_contain_text("layers.py:14")
    expect(status).to_contain_text("154\u202fµs in instance 3 of 4 · 100\u202f% of this graph")
    assert len(explorer.lit("source")) == 1
    expect(page.locator("[data-kernel='extern_kernels.addmm'] .time")).to_have_text("154\u202fµs")
    assert axe(page) == []
    picker.select_option("all 4: 11.2\u202fms")
    expect(status).to_contain_text("11.2\u202fms a step")
    assert "instance=" not in page.url


def test_the_name_at_the_caret_lights_in_all_panes(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cuda-foo1", "?panes=post_grad,ir_post,kernel")

    def named(stage: str) -> set[str]:
        return set(page.locator(f"[data-stage={stage}] .named").all_inner_texts())

    explorer.click_line("post_grad", "torch.ops.aten.neg.default")
    for _ in range(20):
        page.keyboard.press("Control+ArrowRight")
        if named("post_grad") == {"arg0_1"}:
            break
    assert named("ir_post") == {"arg0_1"}
    assert named("kernel") == set()
    page.locator("[data-stage=kernel] .cm-line", has_text="tl.load(in_ptr0").first.click(
        position={"x": 40, "y": 8}  # in its first word
    )
    expect(page.locator("[data-stage=kernel] .named").first).to_be_visible()
    assert (named("kernel"), named("post_grad")) == ({"tmp0"}, set())
