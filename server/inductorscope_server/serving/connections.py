"""Ends connections that keep the server waiting, and limits their number.

uvicorn by itself waits forever for the rest of a request, and for a client that does not read.
"""

import asyncio
import heapq
import logging
import resource
import socket
import time
from collections import Counter
from collections.abc import Sized
from typing import Any

import h11
import uvicorn
from inductorscope.formats.sizes import MIB
from inductorscope.jobs.sender import sender_at
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MOST_CONNECTIONS = 512
"""Open connections. Browsers open up to six each, and close them after a moment of silence."""
MOST_UNSENT_BYTES = 128 * MIB
"""Bytes of answers that clients have not taken yet, over all connections."""
MOST_HEAD_BYTES = 16 * 1024
"""Bytes of a request's address and headers."""
MOST_PIECES = 512
"""Pieces of a body in one read: chunks this small cost far more to read than to send."""
LEAST_BODY_BYTES = 16 * 1024
"""Bytes of a body that must arrive within the time that a client has."""
UNSENT_IN_SYSTEM_BYTES = 128 * 1024
"""Bytes that the system holds in addition to those on their way; a small number shows soon which
clients do not read."""

ENDED_SHARE = 16
"""If there are too many connections, the sender's number divided by this is ended at a time, since
choosing them takes time."""
ACCEPTED_AT_ONCE = 64
"""Connections that may be accepted before a surplus one is ended."""
QUEUED = 4096
"""Connections that wait in the system until they are accepted; clients of further ones try again
seconds later."""
FILES_OF_CONNECTION = 2
"""Files of a connection: its socket, and the file that it uploads."""
OTHER_FILES = 160
"""Files that the rest of the process opens, most of them for the database."""

log = logging.getLogger("inductorscope.web")

Awaited = tuple[str, int]


class Reader(h11.Connection):
    """Reads requests; refuses bodies in tiny chunks."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(h11.SERVER, most_bytes)
        self._pieces = 0

    def receive_data(self, data: bytes) -> None:
        self._pieces = 0
        super().receive_data(data)

    def next_event(self) -> Any:  # noqa: ANN401  # as h11 declares it
        event = super().next_event()
        if isinstance(event, h11.Data):
            self._pieces += 1
            if self._pieces > MOST_PIECES:
                raise h11.RemoteProtocolError("The chunks of the body are too small.")
        return event


class Connection(H11Protocol):
    """A connection that knows how long it has been waiting for its client."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = Reader(MOST_HEAD_BYTES)
        # Uvicorn would refuse the new connection; `make_room` ends another.
        self.limit_concurrency = None
        self.sender = ""
        """Connections of the same sender share the limits of one client."""
        self._requests = 0
        self._received = 0
        self._awaited: Awaited | None = None
        self._since = time.monotonic()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.sender = sender_at(self.client[0] if self.client else None)
        make_room(self.connections, self.config.limit_concurrency)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)

    def on_response_complete(self) -> None:
        self._requests += 1
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        if self.cycle is not None:
            self.cycle.disconnected = True  # the application cannot answer any more
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # its answer has begun
            self.end()

    @property
    def unsent(self) -> int:
        """Bytes that the client has not taken yet."""
        return self.transport.get_write_buffer_size()

    def waits(self, now: float) -> float:
        """Returns for how long the client has neither sent nor taken what it should."""
        awaited = self._awaited_now()
        if awaited is None or awaited != self._awaited:
            self._awaited = awaited
            self._since = now
        return now - self._since

    def _awaited_now(self) -> Awaited | None:
        """Returns what the server waits for, with a number that changes when the client goes on;
        None while the client waits for the server."""
        if self.unsent:
            return "answer", self.unsent
        if self.cycle is None or self.cycle.response_complete:
            return "request", self._requests
        asked = not self.flow.read_paused and not self.cycle.waiting_for_100_continue
        if self.cycle.more_body and asked:
            return "body", self._received // LEAST_BODY_BYTES
        return None

    def end(self) -> None:
        """Ends the connection at once; what was not sent is lost."""
        self.connections.discard(self)
        self.transport.abort()


def make_room(connections: Sized, most: int | None) -> None:
    """Ends some connections if there are too many: of the sender with the most, those that have
    kept the server waiting longest."""
    if most is None or len(connections) <= most:
        return
    now = time.monotonic()
    ours = _ours(connections)
    counts = Counter(connection.sender for connection in ours)
    sender, count = counts.most_common(1)[0]
    theirs = [connection for connection in ours if connection.sender == sender]
    ended = heapq.nlargest(max(1, count // ENDED_SHARE), theirs, key=lambda other: other.waits(now))
    log.warning(
        "There are more than %d connections; of %d of %s, %d are ended.",
        most, count, sender, len(ended),
    )  # fmt: skip
    for connection in ended:
        connection.end()


def _ours(connections: Any) -> list[Connection]:  # noqa: ANN401  # uvicorn's set of all protocols
    return [connection for connection in connections if isinstance(connection, Connection)]


def end_waiting(connections: Sized, seconds: float) -> None:
    """Ends connections whose client has kept the server waiting for too long, and those with the
    longest unread answers if all of them take too much memory."""
    now = time.monotonic()
    ours = _ours(connections)
    for connection in ours:
        if connection.waits(now) > seconds:
            connection.end()
    left = sorted((client for client in ours if client.unsent), key=lambda client: client.unsent)
    while left and sum(connection.unsent for connection in left) > MOST_UNSENT_BYTES:
        slow = left.pop()
        log.warning("Clients are slow to take answers; a connection of %s is ended.", slow.sender)
        slow.end()


def most_connections() -> int:
    """Returns how many connections the process may have, and raises the process's limit on open
    files accordingly."""
    wanted = OTHER_FILES + ACCEPTED_AT_ONCE + FILES_OF_CONNECTION * MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    left = (soft - OTHER_FILES - ACCEPTED_AT_ONCE) // FILES_OF_CONNECTION
    return max(1, min(MOST_CONNECTIONS, left))


def limit_sending(listening: socket.socket, seconds: int) -> None:
    """Sets options that accepted connections inherit: the system holds little that the client has
    not taken, and gives up on clients that are gone."""
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_IN_SYSTEM_BYTES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, seconds * 1000)
