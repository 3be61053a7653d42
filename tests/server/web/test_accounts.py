"""Accounts, tokens, and who sees what: every route for every role and kind of run."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.audit import entries
from inductorscope.store.logins import begin_login
from inductorscope.store.people import AccountError, add_person, add_token, person_named
from inductorscope.store.projects import (
    add_member,
    add_project,
    move_runs,
    place_run,
    project_named,
    share_run,
)
from inductorscope.store.tables.models import Artifact, Graph, Job, Kernel, KernelCall, Upload
from inductorscope.store.tables.people import Token
from inductorscope.store.tables.surveys import SurveyCell
from inductorscope.store.who import READ, ROLES, RUN, UPLOAD
from inductorscope_server.access.identity import LINKS_COOKIE
from inductorscope_server.access.rules import CHECKS, Needs
from inductorscope_server.access.token import COOKIE
from inductorscope_server.web.parts import Parts
from sqlalchemy import select, update
from starlette.testclient import TestClient

from tests.server.conftest import Opened

NOW = datetime.now(UTC)
PASSWORD = "correct horse"
KINDS = ("private", "project", "linked")
"""Runs: ada's alone, of a project, and ada's with a public link."""
SEES = {
    "visitor": (), "visitor with the link": ("linked",), "CI token": (),
    **dict.fromkeys(("reader", "contributor", "author"), ()),
    **dict.fromkeys(("reader in the project", "contributor in the project",
                     "author in the project", "token of the project"), ("project",)),
    "ada": ("private", "linked"), "administrator": KINDS,
}  # fmt: skip
MARK = "zqmark"
"""Begins a word that the run of a kind contains, in its name, its texts and its job."""
NAMED = {"slug", "kernel", "artifact", "permalink", "number", "index", "key", "project", "person",
         "token", "login", "path", "trashed", "rule", "search"}  # fmt: skip
"""Parameters that name a part of a run, or what a handler looks up for whoever asks."""
BY_QUERY = {"run", "left", "kernel", "name"}
"""Query parameters that name a run."""
BODIES = {
    "/api/captures": {"model": "neg-maximum-cat"},
    "/api/play/tries": {"code": ""},
    "/api/uploads": {"files": [{"path": "a", "size": 1}]},
}
NOWHERE = {"files": [{"path": "a", "size": 1}], "project": "nothing"}


@dataclass
class Team:
    """A server with accounts, people of every role, and runs of every kind."""

    client: TestClient
    headers: dict[str, dict[str, str]]
    parts: dict[str, dict[str, str]]
    """The parts of addresses, by the kind of run."""

    def send(self, who: str, method: str, address: str, accept: str = "*/*", **more: Any) -> Any:
        self.client.cookies.clear()
        headers = {**self.headers[who], "Accept": accept}
        return self.client.request(method, address, headers=headers, **more)


@pytest.fixture(scope="module")
def team(
    tmp_path_factory: pytest.TempPathFactory, fixtures: Path, opened: Opened
) -> Iterator[Team]:
    settings = Settings(
        data=tmp_path_factory.mktemp("team") / "data", database_url="", accounts=True,
        hosts="team.example",  # which switches the playground off
    )  # fmt: skip
    runs = {kind: _read(settings, tmp_path_factory.mktemp(kind), fixtures, kind) for kind in KINDS}
    with opened(settings, alone=False) as client:
        parts = client.app.state.parts  # type: ignore[attr-defined]
        assert isinstance(parts, Parts)
        headers: dict[str, dict[str, str]] = {"visitor": {}}
        with parts.write.begin() as session:
            project = add_project(session, "compilers", NOW).id

            def add(name: str, role: str) -> int:
                password = PASSWORD if name == "ada" else None  # takes 0.1 s
                person = add_person(session, name, role, NOW, password).id
                login = begin_login(session, "", NOW, person)
                headers[name] = {"Cookie": f"{COOKIE}={login}"}
                return person

            ada = add("ada", "author")
            for role in ROLES:
                add(role, role)
            for role in ("reader", "contributor", "author"):
                add_member(session, project, add(f"{role} in the project", role))
            move_runs(session, [runs["project"]], project)
            for kind in ("private", "linked"):
                place_run(session, runs[kind], ada, None)
            key = share_run(session, runs["linked"], NOW)
            headers["visitor with the link"] = {"Cookie": f"{LINKS_COOKIE}={key}"}
            everything = [READ, UPLOAD, RUN]
            token = add_token(session, "team", everything, NOW, project=project)
            headers["token of the project"] = {"Authorization": f"Bearer {token}"}
            other = add_project(session, "others", NOW).id
            token = add_token(session, "CI", [UPLOAD], NOW, project=other)
            headers["CI token"] = {"Authorization": f"Bearer {token}"}
            addresses = {}
            for kind, run in runs.items():
                owner = (None, project) if kind == "project" else (ada, None)
                addresses[kind] = _parts(session, run, kind, *owner)
        yield Team(client, headers, addresses)


def _read(settings: Settings, folder: Path, fixtures: Path, kind: str) -> str:
    """Reads a run whose texts all contain a word of its kind."""
    shutil.copytree(fixtures / "cuda-foo1" / "torch_compile_debug", folder / "debug")
    for file in folder.rglob("*.*"):
        if file.is_file():
            text = file.read_text()
            text = text.replace("triton_poi_fused_maximum_neg_0", f"triton_{MARK}{kind}_0")
            file.write_text(text.replace("foo1", f"{MARK}{kind}"))
    name = f"{MARK}{kind}"
    given: dict[str, Any] = {"name": name, "tags": [name], "origin": "capture"}
    return read_paths(settings, [folder], progress=lambda *_: None, **given).run_id


def _parts(
    session: Any, run: str, kind: str, person: int | None, project: int | None
) -> dict[str, str]:
    """A job and an upload of the run's owner, and the parts of the run's addresses."""
    mark = f"{MARK}{kind}"
    owner: dict[str, Any] = {"person_id": person, "project_id": project, "created_at": NOW}
    session.add(
        Job(id=f"capture-{kind}", kind="capture", title=mark, spec={}, state="failed", step="",
            done=0, run_id=run, message=mark, **owner)
    )  # fmt: skip
    session.add(
        SurveyCell(key=kind, survey=mark, program=mark, python=mark, torch="2.13.0", device="cpu",
                   mode="default", run_id=run, failure=None, seconds=1, created_at=NOW, made={},
                   counts={"kernels": 1}, details={}, before=None, changes=[])
    )  # fmt: skip
    session.add(
        Upload(id=f"up{kind}", name=mark, tags=[], files=[{"path": mark, "size": 1}], **owner)
    )
    query = (
        select(Graph.slug, Kernel.name, KernelCall.handle, KernelCall.permalink)
        .join(Kernel, Kernel.graph_id == Graph.id)
        .join(KernelCall, KernelCall.kernel_id == Kernel.id)
        .where(Graph.run_id == run, Kernel.kind != "extern")
    )
    slug, kernel, handle, permalink = session.execute(query).one()
    artifact = session.scalar(
        select(Artifact.id).where(Artifact.run_id == run, Artifact.role == "code")
    )
    return {
        "run": run, "other": run, "slug": slug, "kernel": f"{kernel}:{handle}",
        "permalink": permalink, "artifact": str(artifact), "job": f"capture-{kind}",
        "upload": f"up{kind}", "number": "0", "index": "0", "key": "0" * 12,
        "search": "components",
    }  # fmt: skip


def _queries(parts: dict[str, str], path: str) -> dict[str, str]:
    """Values of query parameters that name something of the run or search for it."""
    graph = f"{parts['run']}/{parts['slug']}"
    kernel = parts["kernel"].partition(":")[0]
    of_history = f"{graph}/{kernel}" if path == "/api/history" else kernel
    return {
        "q": MARK, "name": kernel.partition("_")[2].removesuffix("_0"), "run": parts["run"],
        "left": f"{graph}/post_grad", "right": f"{graph}/code", "kernel": of_history, "line": "1",
        "stage": "code", "a": parts["artifact"], "b": parts["artifact"],
        "sql": "SELECT runs.*, kernel FROM runs LEFT JOIN kernels USING (run)",
    }  # fmt: skip


def _routes(client: TestClient) -> list[tuple[str, str, bool, bool]]:
    """Every operation that is described: method, path, whether the path has parts, and whether the
    answer depends on the run that is asked for."""
    return [
        (method.upper(), path, "{" in path, "{" in path or bool(BY_QUERY & _parameters(operation)))
        for path, operations in client.app.openapi()["paths"].items()  # type: ignore[attr-defined]
        for method, operation in operations.items()
    ]


def _parameters(operation: dict[str, Any]) -> set[str]:
    return {parameter["name"] for parameter in operation.get("parameters", ())}


def _mentions(text: str, kind: str) -> bool:
    return f"{MARK}{kind}" in text


def test_every_route_has_a_rule_and_known_parameters(team: Team) -> None:
    for route in iter_route_contexts(team.client.app.routes):  # type: ignore[attr-defined]
        if not isinstance(route.original_route, APIRoute):
            continue
        rules = [rule for rule in route.dependencies if isinstance(rule.dependency, Needs)]
        assert rules, f"{route.path} needs a rule: see access/rules.py"
        unknown = set(re.findall(r"{(\w+)", str(route.path))) - CHECKS.keys() - NAMED
        assert not unknown, f"{route.path}: {unknown} needs a check in access/rules.py"
        if route.methods != {"GET"}:
            scopes = {scope for rule in rules for scope in rule.dependency.scopes}
            open_to_all = str(route.path).startswith(("/login", "/logout"))
            assert scopes or open_to_all, f"{route.path} changes something and needs a scope"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("who", SEES)
def test_nobody_gets_what_they_may_not_see(team: Team, who: str, kind: str) -> None:
    parts = team.parts[kind]
    hidden = [secret for secret in KINDS if secret not in SEES[who]]
    sees = kind in SEES[who]
    found = 0
    for method, path, of_run, depends in _routes(team.client):
        if not depends and kind != KINDS[0]:
            continue
        if sees and (method != "GET" or who != "ada" or path.endswith("/export")):
            continue  # what they may do is not tried here, and what they see only once
        query = _queries(parts, path)
        answer = team.send(
            who, method, path.format_map(parts | {"key": "0" * 12}), params=query,
            json=BODIES.get(path, {}) if method != "GET" else None,
        )  # fmt: skip
        echoes = "history" in path or ("atlas" in path and answer.status_code == 404)
        text = answer.text.replace(query["name"], "") if echoes else answer.text
        leaked = [secret for secret in hidden if _mentions(text, secret)]
        assert not leaked, f"{who} reads {leaked} at {method} {path}"
        if of_run and not sees and path != "/api/watch/{key}":
            assert answer.status_code in (401, 403, 404, 422), f"{who} may {method} {path}"
        found += _mentions(text, kind)
        if sees and "events" not in path and path != "/api/server":  # which administrators see
            assert answer.status_code in (200, 404, 422), f"{path}: {answer.status_code}"
    assert not sees or who != "ada" or found > 20


def test_pages_and_streams_are_as_their_twins(team: Team) -> None:
    """Those that the description lacks, for somebody who may do everything to runs of their own."""
    for route in iter_route_contexts(team.client.app.routes):  # type: ignore[attr-defined]
        path = str(route.path)
        if path.startswith("/api") or not {"run", "job", "upload", "permalink"} & set(
            re.findall(r"{(\w+)", path)
        ):
            continue
        for method in route.methods or ():
            for kind in ("private", "linked"):
                address = path.format_map(team.parts[kind] | {"key": "0" * 12})
                answer = team.send("author", method, address)
                assert answer.status_code in (403, 404), f"author may {method} {path}"
                assert not _mentions(answer.text, kind)


def test_what_others_load_of_a_survey_is_as_hidden_as_its_runs(team: Team) -> None:
    for who, sees in SEES.items():
        for kind in KINDS:
            query = {"name": f"{MARK}{kind}", "program": f"{MARK}{kind}"}
            for path in ("/atlas.atom", "/atlas/badge.svg"):
                answer = team.send(who, "GET", path, params=query)
                assert (answer.status_code == 200) == (kind in sees), f"{who} {path} {kind}"
        listed = team.send(who, "GET", "/atlas.atom").text
        assert not [kind for kind in KINDS if kind not in sees and _mentions(listed, kind)]


def test_what_each_role_may_do(team: Team) -> None:
    private, own = team.parts["private"], team.parts["project"]
    for who, method, path, status in (
        ("visitor", "GET", "/api/", 401),
        ("visitor with the link", "POST", "/api/uploads", 401),
        ("reader", "POST", "/api/uploads", 403),
        ("contributor", "POST", "/api/uploads", 201),
        ("contributor", "POST", "/api/captures", 403),
        ("CI token", "POST", "/api/uploads", 201),
        ("CI token", "GET", "/api/", 403),
        ("CI token", "POST", "/api/captures", 403),
        ("author in the project", "DELETE", f"/api/runs/{own['run']}", 403),
        ("author in the project", "GET", f"/api/runs/{own['run']}/state", 200),
        ("author in the project", "POST", f"/api/jobs/{own['job']}/again", 403),
        ("author", "GET", "/api/projects", 200),
        ("author", "POST", "/projects", 403),
        ("ada", "PATCH", f"/api/runs/{private['run']}", 204),
        ("administrator", "PATCH", f"/api/runs/{private['run']}", 204),
    ):
        answer = team.send(
            who, method, path, json=BODIES.get(path, {}) if method != "GET" else None
        )
        assert answer.status_code == status, f"{who} {method} {path}: {answer.text}"
    answer = team.send("contributor", "POST", "/api/uploads", json=NOWHERE)
    assert answer.json()["error"]["what"] == "You are in no project named nothing."
    account = team.send("token of the project", "GET", "/api/account").json()
    assert (account["logins"], account["tokens"]) == ([], []), "the owner's"


def test_a_link_shows_a_run_until_it_is_withdrawn(team: Team) -> None:
    run = team.parts["private"]["run"]
    assert team.send("ada", "POST", f"/runs/{run}/link").status_code == 303
    link = team.send("ada", "GET", f"/api/runs/{run}/access").json()["link"]
    assert team.send("author", "GET", f"/api/runs/{run}/access").status_code == 404
    opens = team.send("visitor", "GET", link)
    assert (opens.status_code, opens.headers["location"]) == (303, f"/runs/{run}")
    team.headers["guest"] = {"Cookie": f"{LINKS_COOKIE}={team.client.cookies[LINKS_COOKIE]}"}
    assert team.send("guest", "GET", f"/api/runs/{run}/state").status_code == 200
    assert team.send("guest", "DELETE", f"/api/runs/{run}").status_code == 401
    assert team.send("ada", "POST", f"/runs/{run}/link/withdraw").status_code == 303
    assert team.send("guest", "GET", f"/api/runs/{run}/state").status_code == 404
    assert team.send("guest", "GET", link).status_code == 404


def test_a_project_sees_a_run_while_it_is_there(team: Team) -> None:
    run = team.parts["private"]["run"]

    def post(who: str, path: str, **data: str) -> None:
        assert team.send(who, "POST", path, data=data).status_code == 303

    def seen() -> bool:
        return bool(team.send("reader", "GET", f"/api/runs/{run}/state").is_success)

    post("administrator", "/projects", name=" guests ")
    rows = team.send("administrator", "GET", "/api/projects").json()["projects"]
    (number,) = [row["id"] for row in rows if row["name"] == "guests"]
    for name in ("ada", "reader"):
        post("administrator", f"/projects/{number}/members", name=name)
    assert not seen()
    post("ada", f"/runs/{run}/access", project="guests")
    assert seen()
    rows = team.send("administrator", "GET", "/api/projects").json()["projects"]
    (members,) = [row["members"] for row in rows if row["id"] == number]
    (reader,) = [member["id"] for member in members if member["name"] == "reader"]
    post("administrator", f"/projects/{number}/members/{reader}/remove")
    assert not seen()
    post("ada", f"/runs/{run}/access", project="")
    assert team.send("ada", "GET", f"/api/runs/{run}/access").json()["places"] == [
        {"person": "ada", "project": None}
    ]


def test_a_run_that_two_people_sent_stays_with_the_other(team: Team) -> None:
    run = team.parts["linked"]["run"]
    parts = team.client.app.state.parts  # type: ignore[attr-defined]
    with parts.write.begin() as session:
        contributor = person_named(session, "contributor").id
        place_run(session, run, contributor, None)
        place_run(session, run, contributor, None)
    assert team.send("contributor", "GET", f"/api/runs/{run}/state").status_code == 200
    assert team.send("contributor", "DELETE", f"/api/runs/{run}").status_code == 204
    assert team.send("contributor", "GET", f"/api/runs/{run}/state").status_code == 404
    assert team.send("ada", "GET", f"/api/runs/{run}/state").status_code == 200
    # Who deletes it last may take it out of the trash.
    assert team.send("ada", "DELETE", f"/api/runs/{run}").status_code == 204
    restore = f"/server/trash/{run}/restore"
    for who, deleted, status in (("contributor", [], 404), ("ada", [run], 303)):
        trash = team.send(who, "GET", "/api/account").json()["trash"]["runs"]
        assert [row["id"] for row in trash] == deleted
        assert (restore in team.send(who, "GET", "/account").text) == bool(deleted)
        assert team.send(who, "POST", restore).status_code == status
    assert team.send("ada", "GET", f"/api/runs/{run}/state").status_code == 200


# --- logging in ---


def test_signing_in_renews_the_cookie(team: Team) -> None:
    client = team.client
    client.cookies.clear()
    fixed = "A" * 43
    given = {"name": "ada", "password": PASSWORD}
    wrong = client.post("/login", data=given | {"password": "wrong"})
    assert wrong.status_code == 403
    assert "wrong" in wrong.text
    answer = client.post("/login", data=given, headers={"Cookie": f"{COOKIE}={fixed}"})
    first = client.cookies[COOKIE]
    assert answer.status_code == 303
    assert first != fixed
    again = client.post("/login", data=given)
    second = client.cookies[COOKIE]
    assert again.status_code == 303
    team.headers |= {
        "fixed": {"Cookie": f"{COOKIE}={fixed}"}, "replayed": {"Cookie": f"{COOKIE}={first}"},
        "guessed": {"Cookie": f"{COOKIE}={second[:-1]}{'A' if second[-1] != 'A' else 'B'}"},
        "current": {"Cookie": f"{COOKIE}={second}"},
    }  # fmt: skip
    for who, status in (("fixed", 401), ("replayed", 401), ("guessed", 401), ("current", 200)):
        assert team.send(who, "GET", "/api/account").status_code == status, who
    account = team.send("current", "GET", "/api/account").json()
    (this,) = [login for login in account["logins"] if login["this"]]
    assert team.send("author", "POST", f"/account/logins/{this['id']}/end").status_code == 303
    assert team.send("current", "GET", "/api/account").status_code == 200
    assert team.send("current", "POST", f"/account/logins/{this['id']}/end").status_code == 303
    assert team.send("current", "GET", "/api/account").status_code == 401


def test_the_life_of_a_token(team: Team) -> None:
    given: dict[str, Any] = {"name": "laptop", "scopes": ["read", "upload"], "days": "2"}
    made = team.send("contributor", "POST", "/account/tokens", data=given)
    found = re.search(r"isc_[\w-]{43}", made.text)
    assert made.status_code == 200
    assert found
    team.headers["laptop"] = {"Authorization": f"Bearer {found[0]}"}
    assert team.send("laptop", "GET", "/api/account").json()["name"] == "contributor, token laptop"
    assert (
        team.send("laptop", "POST", "/api/uploads", json=BODIES["/api/uploads"]).status_code == 201
    )
    assert team.send("laptop", "POST", "/account/tokens", data=given).status_code == 403
    beyond = team.send("contributor", "POST", "/account/tokens", data=given | {"scopes": ["run"]})
    assert beyond.status_code == 422
    (row,) = team.send("contributor", "GET", "/api/account").json()["tokens"]
    assert row["used_at"] is not None
    assert found[0] not in team.send("contributor", "GET", "/account").text
    parts = team.client.app.state.parts  # type: ignore[attr-defined]
    with parts.write.begin() as session:
        digests = session.scalars(select(Token.digest)).all()
        assert not {found[0], found[0].removeprefix("isc_")} & set(digests)
        past = datetime.now(UTC) - timedelta(seconds=1)
        of_laptop = Token.name == "laptop"
        session.execute(update(Token).where(of_laptop).values(expires_at=past))
    assert team.send("laptop", "GET", "/api/account").status_code == 401
    with parts.write.begin() as session:
        session.execute(update(Token).where(of_laptop).values(expires_at=None))
    assert team.send("laptop", "GET", "/api/account").status_code == 200
    assert team.send("author", "POST", f"/account/tokens/{row['id']}/remove").status_code == 303
    assert team.send("laptop", "GET", "/api/account").status_code == 200
    removed = team.send("contributor", "POST", f"/account/tokens/{row['id']}/remove")
    assert removed.status_code == 303
    assert team.send("laptop", "GET", "/api/account").status_code == 401


def test_a_proxy_names_people_and_nobody_else_does(own_settings: Settings, opened: Opened) -> None:
    given = {"proxy_header": "X-Forwarded-User", "new_role": "author"}
    named = {"X-Forwarded-User": "grace"}
    with opened(own_settings, proxies="10.0.0.0/8", **given) as client:
        forged = client.get("/api/account", headers=named)
        assert forged.status_code == 403
        assert forged.json()["error"]["limit"] == "INDUCTORSCOPE_PROXIES"
        forwarded = client.get("/api/account", headers=named | {"X-Forwarded-For": "10.1.2.3"})
        assert forwarded.status_code == 403
        proxy = TestClient(client.app, base_url=str(client.base_url), client=("10.1.2.3", 1))
        account = proxy.get("/api/account", headers=named | {"X-Forwarded-For": "192.0.2.1"})
        assert (account.json()["name"], account.json()["role"]) == ("grace", "author")
        assert proxy.get("/api/account").status_code == 401
        twice = proxy.get("/api/account", headers=[("X-Forwarded-User", "a")] * 2)
        assert twice.status_code == 403


def test_what_is_refused_says_why(team: Team) -> None:
    parts = team.client.app.state.parts  # type: ignore[attr-defined]
    with parts.write() as session:
        for wrong in (
            lambda: add_person(session, "ada", "reader", NOW, PASSWORD),
            lambda: add_person(session, " eve", "reader", NOW, PASSWORD),
            lambda: add_person(session, "eve", "reader", NOW, "short"),
            lambda: add_token(session, "x", [], NOW),
            lambda: add_token(session, "x", [READ], NOW),
            lambda: add_project(session, "compilers", NOW),
            lambda: project_named(session, "nothing"),
        ):
            with pytest.raises(AccountError):
                wrong()


def _ask(team: Team, who: str, tool: str, **arguments: str) -> str:
    """The answer of a tool for agents; what refuses it otherwise."""
    called = {"name": tool, "arguments": arguments}
    answer = team.send(
        who, "POST", "/mcp", "application/json, text/event-stream",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called},
    )  # fmt: skip
    return str(answer.text)


@pytest.mark.parametrize("who", SEES)
def test_agents_and_markdown_show_what_their_reader_sees(team: Team, who: str) -> None:
    listed = _ask(team, who, "find_runs", query=MARK)
    for kind in KINDS:
        run = team.parts[kind]["run"]
        seen = kind in SEES[who]
        assert _mentions(listed, kind) == seen, (who, kind, listed)
        told = _ask(team, who, "kernel", run=run, name="triton")
        assert _mentions(told, kind) == seen, (who, kind, told)
        page = team.send(who, "GET", f"/runs/{run}.md")
        assert (page.status_code == 200) == seen, (who, kind)


def test_the_audit_says_who_read_and_deleted(team: Team) -> None:
    parts = team.client.app.state.parts  # type: ignore[attr-defined]
    artifact = team.parts["project"]["artifact"]
    for _ in range(2):
        assert team.send(
            "reader in the project", "GET", f"/api/artifacts/{artifact}/text"
        ).is_success
    assert team.send("reader", "GET", f"/api/artifacts/{artifact}/text").status_code == 404
    wanted = {"name": "notes", "scopes": ["read"]}
    assert team.send("reader", "POST", "/account/tokens", data=wanted).status_code == 200
    run = team.parts["private"]["run"]
    assert team.send("administrator", "DELETE", f"/api/runs/{run}").status_code == 204
    with parts.read() as session:
        noted = [(entry["who"], entry["action"], entry["target"]) for entry in entries(session)]
    of_project = team.parts["project"]["run"]
    read = [entry for entry in noted if entry[1] == "read" and of_project in str(entry[2])]
    assert [entry[0] for entry in read].count("reader in the project") == 1
    assert not [entry for entry in read if entry[0] == "reader"]
    assert ("administrator", "delete", f"/api/runs/{run}") in noted
    assert ("reader", "make a token", "notes (read)") in noted
