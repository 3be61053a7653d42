"""The containers cannot be built here, so what they say is checked against what there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from inductorscope.cli.app import app, load_commands
from inductorscope.settings import PREFIX, Settings
from typer.main import get_command

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILES = sorted((ROOT / "docker").glob("*.Dockerfile"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
STORE = {
    f"AWS_{name}"
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "ENDPOINT", "ALLOW_HTTP", "REGION")
}
"""What obstore reads, as in `support/seaweed.py`."""
SETTINGS = {PREFIX + field.name.upper() for field in fields(Settings)}


def instructions(file: Path) -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n\s*", "", file.read_text())
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.name))
def test_image(file: Path) -> None:
    last_stage: list[tuple[str, str]] = []
    for word, rest in instructions(file):
        last_stage = [] if word == "FROM" else [*last_stage, (word, rest)]
        if word == "COPY" and "--from" not in rest:
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), f"{file.name} copies {source}, which is not there"
        for name in re.findall(rf"\b{PREFIX}[A-Z_]+", rest):
            assert name in SETTINGS, f"{file.name} sets {name}, which is no setting"
    words = dict(last_stage)
    assert words["USER"] not in ("root", "0")
    assert "HEALTHCHECK" in words
    load_commands()
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for word in ("CMD", "HEALTHCHECK"):
        for name in re.findall(r'"inductorscope", "([a-z-]+)"', words[word]):
            assert name in commands, f"{file.name} runs `inductorscope {name}`, which is not there"


def test_every_service_is_confined_and_watched() -> None:
    dockerfiles = {str(file.relative_to(ROOT)) for file in DOCKERFILES}
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] is True, name
        assert service["user"] not in ("root", "0"), name
        assert service["restart"] == "unless-stopped", name
        if "build" in service:
            assert service["build"]["dockerfile"] in dockerfiles
            assert service["cap_drop"] == ["ALL"], name
            unknown = {name for name in service["environment"] if name not in SETTINGS | STORE}
            assert not unknown, f"{name} sets {unknown}, which are no settings"
        else:
            assert "healthcheck" in service, name


def test_ports_are_published_on_loopback_and_a_token_is_required() -> None:
    web = COMPOSE["services"]["web"]
    assert all(str(port).startswith("127.0.0.1:") for port in web["ports"])
    assert ":?" in web["environment"]["INDUCTORSCOPE_TOKEN"]


def test_web_and_workers_share_the_database_and_the_object_store_and_no_folder() -> None:
    services = COMPOSE["services"]
    web, worker, store = (services[name] for name in ("web", "worker", "store"))
    assert web["volumes"] == worker["volumes"] == [web["environment"]["INDUCTORSCOPE_DATA"]]
    for key in {"INDUCTORSCOPE_DATABASE_URL", "INDUCTORSCOPE_CONTENTS_URL", *STORE}:
        assert web["environment"][key] == worker["environment"][key]
    assert set(store["environment"].items()) <= set(web["environment"].items())
    bucket = web["environment"]["INDUCTORSCOPE_CONTENTS_URL"].removeprefix("s3://")
    assert f"s3.bucket.create -name {bucket}'" in store["healthcheck"]["test"][1]
    first, last = re.findall(r"8\d{3}(?=[-:])", web["ports"][0])
    assert int(last) - int(first) + 1 == web["deploy"]["replicas"] == 2
    assert worker["deploy"]["replicas"] >= 2
    assert set(web["depends_on"]) == {"postgres", "store"}
