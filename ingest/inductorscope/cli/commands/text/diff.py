"""`inductorscope diff`: what two runs do differently, as Markdown or JSON."""

from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, app, print_json


@app.command()
def diff(
    a: Annotated[str, typer.Argument(help="The first run's id, or its first characters.")],
    b: Annotated[str, typer.Argument(help="The second run's.")],
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Print what differs between two runs: inputs, time, kernels, compiling."""
    from inductorscope.answers.compare.compare import compare_page
    from inductorscope.answers.compare.markdown import compared
    from inductorscope.cli.reading import one_run, reading

    with reading(data) as (session, _):
        page = compare_page(session, one_run(session, a), one_run(session, b))
    if as_json:
        print_json(page, indent=1)
    else:
        typer.echo("\n".join(compared(page)))
