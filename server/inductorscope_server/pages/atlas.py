"""The atlas: a survey of programs and torches."""

from typing import Annotated

from fastapi import Query
from inductorscope.survey.page import Atlas, atlas_page

from inductorscope_server.web.ids import Line
from inductorscope_server.web.parts import Reading

OfSurvey = Annotated[Line, Query(description="Name of the survey; without one, the newest.")]
OfFigure = Annotated[Line, Query(description="A count of a lock; without one, kernels.")]
OfProgram = Annotated[Line, Query(description="Show all figures of this program.")]


def load(
    session: Reading, name: OfSurvey = "", figure: OfFigure = "", program: OfProgram = ""
) -> Atlas:
    """A figure of each program with each torch, and what changed from one torch to the next."""
    return atlas_page(session, name, figure, program)
