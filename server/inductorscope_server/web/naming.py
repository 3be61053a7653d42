"""Parameters that name an entry of the vocabulary."""

from collections.abc import Callable, Collection
from typing import Annotated, Any

from fastapi import Query
from inductorscope.answers.explorer.reasons import EXPLAINED
from inductorscope.formats.vocabulary import KEPT_GRAPHS, SEARCHED
from pydantic import AfterValidator


def one_of(ids: Collection[str]) -> AfterValidator:
    """Accepts these ids."""

    def named(value: str) -> str:
        if value not in ids:
            raise ValueError(f"must be one of {', '.join(repr(name) for name in ids)}")
        return value

    return AfterValidator(named)


def documented_ids(ids: Collection[str]) -> Callable[[dict[str, Any]], None]:
    """Adds the ids to the API's description."""
    return lambda schema: schema.update(enum=list(ids))


ANY_ROLE = ("", *SEARCHED)
SearchedRole = Annotated[
    str,
    one_of(ANY_ROLE),
    Query(description="Only this kind of text.", json_schema_extra=documented_ids(ANY_ROLE)),
]
GraphStage = Annotated[
    str, one_of(KEPT_GRAPHS), Query(json_schema_extra=documented_ids(KEPT_GRAPHS))
]
ExplainedStage = Annotated[
    str, one_of(EXPLAINED), Query(json_schema_extra=documented_ids(EXPLAINED))
]
