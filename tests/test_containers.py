"""The containers cannot be built here, so what they say is checked against what there is."""

import os
import re
import subprocess
import tomllib
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


@pytest.mark.parametrize("name", ["images", "build", "development"])
def test_locks_name_each_package_with_its_hashes(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    locked = set()
    for entry in text.replace("\\\n", " ").splitlines():
        package, _, hashes = entry.partition(" --hash=")
        assert "==" in package, entry
        assert all(len(digest) == 64 for digest in re.findall(r"sha256:(\w+)", hashes)), package
        assert hashes, package
        locked.add(package.partition("==")[0])
    assert "://" not in text
    assert "torch" not in locked
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = {
        "images": project["dependencies"] + extras["objects"],
        "development": project["dependencies"] + extras["objects"] + extras["dev"],
        "build": ["hatchling"],
    }[name]
    missing = {re.split(r"[\[<>=]", package)[0] for package in asked} - locked
    assert not missing, f"requirements/{name}.txt lacks {missing}: make lock"


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.name))
def test_images_install_what_the_locks_say(file: Path) -> None:
    """But for torch, whose build is chosen when the image is built."""
    for word, rest in instructions(file):
        if word == "RUN" and re.search(r"\bpip (?:install|wheel)\b", rest) and "TORCH" not in rest:
            assert "--require-hashes" in rest or "--no-deps" in rest, rest


def test_a_release_names_base_images_by_digest(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    docker = tmp_path / "bin" / "docker"
    docker.write_text(f"#!/bin/sh\necho sha256:{7:064}\n")  # there is none here
    docker.chmod(0o755)
    copies = [tmp_path / file.name for file in (*DOCKERFILES, ROOT / "docker-compose.yml")]
    for copy, file in zip(copies, (*DOCKERFILES, ROOT / "docker-compose.yml"), strict=True):
        copy.write_text(file.read_text())
    for _ in range(2):  # the second time, the digests are new
        subprocess.run(
            ["sh", str(ROOT / "docker" / "pin.sh"), *map(str, copies)], check=True,
            env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        )  # fmt: skip
    lines = "\n".join(copy.read_text() for copy in copies).splitlines()
    bases = [line for line in lines if line.startswith(("FROM ", "    image:"))]
    assert len(bases) == 6
    assert all(re.search(r"[\w/]+:[\w.-]+@sha256:0{63}7(?: AS build)?$", line) for line in bases)


def test_every_service_is_confined_and_watched() -> None:
    dockerfiles = {str(file.relative_to(ROOT)) for file in DOCKERFILES}
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] is True, name
        assert service["user"] not in ("root", "0"), name
        assert service["restart"] == "unless-stopped", name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        if "build" in service:
            assert service["build"]["dockerfile"] in dockerfiles
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
