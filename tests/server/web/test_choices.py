"""What a reader chose comes with every page, and nothing that only looks like it."""

import pytest
from starlette.testclient import TestClient


def head_of(client: TestClient, cookie: str) -> str:
    page = client.get("/", headers={"Cookie": f"other=1; inductorscope_choices={cookie}"})
    assert page.status_code == 200
    assert "Cookie" in page.headers["vary"]
    text: str = page.text
    return text[: text.index("<head>")]


def test_pages_come_with_the_chosen_theme(client: TestClient) -> None:
    assert '<html lang="en">' in client.get("/").text
    assert 'data-theme="dark"' in head_of(client, "fold-types=0&theme=dark")
    assert 'data-choices="fold-types=0&amp;theme=dark"' in head_of(
        client, "fold-types=0&theme=dark"
    )
    assert "data-theme" not in head_of(client, "theme=system")


@pytest.mark.parametrize(
    "cookie", ["", "&&=", "theme", "theme=%22%3E%3Cb%3E", 'theme="><b>', "a=" + "b" * 5000]
)
def test_a_cookie_of_another_form_chooses_nothing(client: TestClient, cookie: str) -> None:
    assert head_of(client, cookie).split("\n", 1)[1] == ('<html lang="en">\n')
