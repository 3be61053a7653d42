"""Finds the run that a lock's program is compared with."""

import re

import msgspec

from inductorscope.capturing.spec import SpecError, from_builtins
from inductorscope.cli.app import fail
from inductorscope.cli.client import Client, ServerError
from inductorscope.cli.contract import stored_program
from inductorscope.contract.lock import LockError, Program, read_lock
from inductorscope.errors import SERVER, USAGE
from inductorscope.settings import Settings

_ON_SERVER = re.compile(r"(https?://.+?)/(?:runs/([0-9a-f]{16})\b.*|history\?(.+))")


def baseline_of(settings: Settings, locked: Program, where: str, token: str) -> tuple[Program, str]:
    """Returns a run as a program, with the options and budgets of the locked one, and the run's id.

    `where`: a run's id or address, or the address of a history, which stands for its newest run of
    the program's name. Exits if there is none.
    """
    if "://" not in where:
        found, run = stored_program(settings, where)
    else:
        address = _ON_SERVER.fullmatch(where)
        if address is None:
            fail(f"{where} is the address of neither a run nor a history.", USAGE)
        client = Client(address[1], token)
        try:
            run = address[2] or client.newest(address[3], _title(locked))
            found = read_lock(client.lock(run)).program[0]
        except (ServerError, LockError) as error:
            fail(f"{where}: {error}", SERVER)
    own = {"model": locked.model, "options": locked.options, "budgets": locked.budgets}
    return msgspec.structs.replace(found, **own), run


def _title(program: Program) -> str:
    """Returns the name of the program's runs."""
    try:
        return from_builtins({"model": program.model, **program.options}).title
    except SpecError:  # it was locked from a run, and has the run's name
        return program.model
