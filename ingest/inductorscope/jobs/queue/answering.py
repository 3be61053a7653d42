"""Whether a web process answers."""

from __future__ import annotations

import socket

ANSWER_SECONDS = 3.0
QUESTION = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answers(host: str, port: int) -> bool:
    """Returns whether the process answers at all, even to report that its database is away."""
    try:
        with socket.create_connection((host, port), ANSWER_SECONDS) as connection:
            connection.sendall(QUESTION)
            return connection.recv(len(b"HTTP/")).startswith(b"HTTP")
    except OSError:
        return False
