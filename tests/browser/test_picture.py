"""The picture of a graph: linked with the panes both ways, walked by keyboard, read aloud."""

from playwright.sync_api import Locator, Page, expect

from tests.support.accessible import check
from tests.support.explorer import Explorer, open_graph
from tests.support.serving import Served


def canvas(page: Page) -> Locator:
    return page.get_by_role("application").first


def facts(page: Page) -> Locator:
    return page.locator(".picture-facts").first


def test_a_line_selects_its_node_and_a_node_selects_its_lines(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cpu-ops-zoo", "?panes=post_grad,picture,kernel")
    expect(facts(page)).to_contain_text("134 nodes in 13 kernel calls")
    explorer.click_line("post_grad", "torch.ops.aten.embedding.default")
    expect(facts(page).get_by_role("heading", name="embedding", exact=True)).to_be_visible()
    expect(facts(page)).to_contain_text("In 5 kernel calls")

    # Its user is a button: it selects that node in all panes.
    user = facts(page).get_by_role("region", name="Goes to").get_by_role("button").first
    name = user.locator(".chain-label").inner_text()
    user.click()
    expect(facts(page).get_by_role("heading", name=name, exact=True)).to_be_visible()
    page.wait_for_url(f"**sel=fx:{name}")
    assert any(line.startswith(f"{name}:") for line in explorer.lit("post_grad"))
    assert explorer.lit("kernel")


def test_a_press_on_a_node_selects_it(page: Page, zoo: Served) -> None:
    explorer = open_graph(
        page, zoo, "cpu-ops-zoo", "?panes=picture,post_grad&around=1&sel=fx:embedding"
    )
    # The one selected node stands in the picture of its surroundings; somewhere there is another.
    box = canvas(page).bounding_box()
    assert box
    for part in range(2, 39):
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * part / 40)
        page.wait_for_timeout(30)
        if "sel=fx:embedding" not in page.url:
            break
    page.wait_for_function("() => /sel=(fx|call):/.test(location.search)")
    assert "sel=fx:embedding&" not in page.url + "&"
    assert explorer.lit("post_grad")


def test_the_picture_is_walked_by_keyboard(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cpu-ops-zoo", "?panes=picture,post_grad&sel=fx:embedding")
    canvas(page).focus()
    heading = facts(page).get_by_role("heading", level=2)
    expect(facts(page).locator(".picture-node h2")).to_have_text("embedding")
    page.keyboard.press("ArrowDown")
    expect(facts(page).locator(".picture-node h2")).not_to_have_text("embedding")
    below = facts(page).locator(".picture-node h2").inner_text()
    assert heading.count() == 3
    # The path from the selected node to this one, drawn alone.
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".picture-words")).to_contain_text("A shortest path from embedding to")
    page.keyboard.press("w")
    expect(page.locator(".picture-words")).to_be_hidden()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**sel=fx:{below}")
    assert any(line.startswith(f"{below}:") for line in explorer.lit("post_grad"))
    page.keyboard.press("2")
    page.wait_for_url("**around=2**")
    expect(page.get_by_role("button", name="2 steps")).to_have_attribute("aria-pressed", "true")
    page.reload()
    Explorer(page)
    expect(page.get_by_role("button", name="2 steps")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("f")


def test_nodes_are_found_by_name_and_operation(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cpu-ops-zoo", "?panes=picture,post_grad")
    box = page.get_by_label("Find a node by name or operation")
    box.fill("embedding")
    expect(page.locator(".picture-words")).to_contain_text("of 140 nodes")
    box.press("Enter")
    page.wait_for_url("**sel=fx:embedding")


def test_fusion_is_shown_before_and_after(page: Page, zoo: Served) -> None:
    explorer = open_graph(page, zoo, "cpu-ops-zoo", "?panes=picture_pre,picture_post,ir_post")
    before, after = page.locator(".picture-facts").nth(0), page.locator(".picture-facts").nth(1)
    expect(before).to_contain_text("none fused yet")
    expect(after).to_contain_text("of them fused")
    explorer.click_line("ir_post", "ops.reduction(torch.float32, torch.float32, 'sum', load_1)")
    expect(before.locator(".picture-node h2")).to_have_text("op0")
    expect(after.locator(".picture-node h2")).to_have_text("op0")


def test_it_is_accessible_and_fits(page: Page, zoo: Served) -> None:
    open_graph(page, zoo, "cpu-ops-zoo", "?panes=picture,kernel&sel=fx:embedding&around=1")
    expect(facts(page).locator(".picture-node h2")).to_have_text("embedding")
    check(page, "picture")
