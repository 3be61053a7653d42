"""`inductorscope models`: the built-in models."""

from inductorscope.cli.app import AsJson, app, print_json


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the built-in models that `capture` can run."""
    from inductorscope.capturing.builtin import describe

    rows = describe()
    if as_json:
        print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for heading in ("Name", "Title", "What it shows"):
        table.add_column(heading, no_wrap=heading == "Name")
    for row in rows:
        missing = f" Needs {', '.join(row['missing'])}." if row["missing"] else ""
        table.add_row(row["name"], row["title"], row["shows"] + missing)
    Console().print(table)
