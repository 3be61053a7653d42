"""One struct a page: what an answer returns is what the template gets and the JSON twin holds."""

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

import inductorscope.answers
import inductorscope.jobs
import inductorscope_server
import msgspec
import pytest
from inductorscope.settings import Settings
from inductorscope_server.api import bodies
from inductorscope_server.pages.table import PAGES
from inductorscope_server.web.app import create_app
from pydantic import BaseModel


def classes_of(package: ModuleType) -> set[type[Any]]:
    """Classes that the modules of a package define."""
    names = [part.name for part in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    return {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


def fields_of(struct: type[Any]) -> frozenset[str]:
    return frozenset(struct.__struct_fields__)


@pytest.fixture(scope="module")
def of_the_server() -> set[type[Any]]:
    return classes_of(inductorscope_server)


def test_no_class_of_the_server_mirrors_an_answer(of_the_server: set[type[Any]]) -> None:
    answers = classes_of(inductorscope.answers) | classes_of(inductorscope.jobs)
    known = {fields_of(answer): answer for answer in answers if issubclass(answer, msgspec.Struct)}
    mirrors = {
        model: known[fields_of(model)]
        for model in of_the_server
        if issubclass(model, msgspec.Struct)
        and len(fields_of(model)) > 1
        and fields_of(model) in known
    }
    assert not mirrors


def test_pydantic_checks_bodies_alone(of_the_server: set[type[Any]]) -> None:
    models = {model.__module__ for model in of_the_server if issubclass(model, BaseModel)}
    assert models == {bodies.__name__}


def test_a_twin_returns_the_struct_that_its_page_gets() -> None:
    for page in PAGES:
        assert issubclass(page.struct, msgspec.Struct), page.path
        if page.twin is None:
            assert page.twin_struct is page.struct, page.path
        else:
            assert fields_of(page.struct) < fields_of(page.twin_struct), page.path


def test_the_description_names_the_structs(tmp_path: Path) -> None:
    described = create_app(Settings(data=tmp_path, database_url="")).openapi()
    for page in PAGES:
        answer = described["paths"][f"/api{page.path}"]["get"]["responses"]["200"]
        named = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert named == page.twin_struct.__name__
    speed_up = described["components"]["schemas"]["RunRow"]["properties"]["speed_up"]
    assert speed_up["description"] == "Eager time divided by compiled time."
