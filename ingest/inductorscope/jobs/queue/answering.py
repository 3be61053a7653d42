"""Whether a web process answers."""

from __future__ import annotations

import socket

ANSWER_SECONDS = 3.0
QUESTION = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answers(host: str, port: int) -> bool:
    """Whether the process answers at all; what it says about its database is for others."""
    try:
        with socket.create_connection((host, port), ANSWER_SECONDS) as connection:
            connection.sendall(QUESTION)
            return connection.recv(len(b"HTTP/")).startswith(b"HTTP")
    except OSError:
        return False
