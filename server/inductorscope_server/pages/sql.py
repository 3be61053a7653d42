"""The SQL page: queries on the facts of runs."""

import hashlib
from typing import Annotated

from fastapi import Query
from inductorscope.answers.missing import Exceeded
from inductorscope.answers.sql import ASK_FOR_LESS, SqlPage, sql_page

from inductorscope_server.web.parts import Analysing, Shared

Sql = Annotated[str, Query(description="One SELECT.", max_length=20_000, pattern=r"^[^\x00]*$")]


async def load(parts: Shared, analysis: Analysing, sql: Sql = "") -> SqlPage:
    """Up to 1,000 rows of one SELECT on the tables `runs`, `kernels`, `lines` and `breaks`."""
    key = hashlib.sha256(sql.encode()).hexdigest()[:16]  # each query takes its own turn
    try:
        return await analysis.once(sql_page, key, sql, str(parts.settings.facts))
    except Exceeded as limit:
        return SqlPage(sql, f"The query {limit}. {ASK_FOR_LESS}")
