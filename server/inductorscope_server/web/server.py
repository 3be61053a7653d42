"""The web process: checks the settings, listens, and serves until it is stopped."""

import contextlib
import errno
import gc
import socket
import sys
from importlib.util import find_spec
from types import FrameType

import uvicorn
from inductorscope.errors import InWords
from inductorscope.jobs.errors import cause_of
from inductorscope.processes.logs import log_to_stderr
from inductorscope.processes.memory import return_large_blocks
from inductorscope.settings import PREFIX, SettingError, Settings, load
from inductorscope.store.database.errors import UnusableError
from inductorscope.store.runs.runs import report_secrets
from inductorscope.store.who import ROLES
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import configure_mappers

from inductorscope_server.access.token import refusal_of_token
from inductorscope_server.serving.connections import (
    ACCEPTED_AT_ONCE,
    QUEUED,
    Connection,
    end_waiting,
    limit_sending,
    most_connections,
)
from inductorscope_server.web.app import create_app
from inductorscope_server.web.parts import Parts
from inductorscope_server.web.security import WILDCARDS, is_loopback_name

TICKS_PER_LOOK = 5
"""Ticks of uvicorn, ten a second, between checks for clients that keep the server waiting."""
KEPT_SECONDS = 20
"""Seconds that a connection without a request is kept for the next one."""
COLLECTED_AFTER = 2000
"""Number of new objects after which the youngest are collected, three times Python's default: in a
flood, a collection of all objects stops every request for 0.2 s."""
SWITCH_SECONDS = 0.0005
"""Seconds that the event loop waits for a busy thread after each system call. With Python's 5 ms, a
hundred small answers in a flood would delay the next request by a second."""
GRACE_SECONDS = 5
"""Seconds that running requests may take when the server stops; streams end immediately."""


class PortTakenError(InWords):
    """Another program listens there; the supervisor does not retry."""

    exit_code = 3


class Server(uvicorn.Server):
    """Ends streams when the server is stopped, so that they do not delay the exit."""

    def __init__(self, config: uvicorn.Config, parts: Parts) -> None:
        super().__init__(config)
        self._parts = parts

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_PER_LOOK == 0:
            end_waiting(self.server_state.connections, self._parts.settings.client_seconds)
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(QUEUED)  # the event loop set the queue to what it accepts at once
        if self.started:
            print(f"Inductorscope is at {address_of(self._parts.settings)}", flush=True)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._parts.stopping.set()
        super().handle_exit(sig, frame)


def address_of(settings: Settings) -> str:
    """Returns the server's URL for a browser on this machine."""
    host = "localhost" if settings.host in WILDCARDS else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}/"


def check(settings: Settings) -> None:
    """Refuses a token that can be guessed, and a non-loopback address without token or accounts."""
    if refusal := refusal_of_token(settings.token):
        raise SettingError(refusal)
    if settings.new_role not in ROLES:
        roles = ", ".join(ROLES)
        raise SettingError(f"{PREFIX}NEW_ROLE is {settings.new_role!r}; roles are {roles}.")
    if settings.oidc_issuer and find_spec("authlib") is None:
        raise SettingError(f"{PREFIX}OIDC_ISSUER needs authlib: pip install 'inductorscope[oidc]'.")
    if settings.token or settings.has_accounts or is_loopback_name(settings.host):
        return
    raise SettingError(
        f"Refusing to listen on {settings.host}, which other machines can reach, without a token: "
        f"set {PREFIX}TOKEN to a secret, {PREFIX}ACCOUNTS to 1, or {PREFIX}HOST to 127.0.0.1."
    )


def listen(settings: Settings) -> socket.socket:
    """Opens a socket on the address, before anything else starts."""
    where = f"{settings.host}:{settings.port}"
    try:
        addresses = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise SettingError(f"{settings.host} is not an address of this machine: {error}.") from None
    family, kind, protocol, _, address = addresses[0]
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(QUEUED)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTakenError(
                f"Port {settings.port} of {settings.host} is in use by another program: "
                f"stop that program, or choose another port with --port or {PREFIX}PORT."
            ) from None
        raise SettingError(f"Cannot listen on {where}: {error.strerror}.") from None
    limit_sending(listening, settings.client_seconds)
    return listening


def serve(settings: Settings) -> None:
    check(settings)
    with contextlib.closing(listen(settings)) as listening:
        try:
            app = create_app(settings)
            with app.state.parts.write.begin() as session:
                notice = report_secrets(session)
        except UnusableError as error:
            raise SettingError(str(error)) from error
        except (SQLAlchemyError, OSError) as error:
            raise InWords(f"The database cannot be opened: {cause_of(error)}") from error
        if notice is not None:
            print(notice, file=sys.stderr, flush=True)
        configure_mappers()
        gc.enable()
        gc.freeze()  # otherwise a collection over all modules would delay some request by 0.1 s
        gc.set_threshold(COLLECTED_AFTER)
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # `BehindProxies` reads them
            backlog=ACCEPTED_AT_ONCE,
            limit_concurrency=most_connections(),
            timeout_graceful_shutdown=GRACE_SECONDS,
            timeout_keep_alive=min(KEPT_SECONDS, settings.client_seconds),
        )
        Server(config, app.state.parts).run(sockets=[listening])


def main() -> None:
    gc.disable()  # until the server starts serving
    return_large_blocks()
    sys.setswitchinterval(SWITCH_SECONDS)
    settings = load()
    log_to_stderr(as_json=settings.log_json)
    serve(settings)
