"""The address that a request comes from, so that one sender's many do not hold up others. Who
sends it, and what they may see, is `store.who`'s."""

from __future__ import annotations

import ipaddress
from contextvars import ContextVar

HERE = "here"
"""The sender of requests without an address: the command line on this machine."""

SENDER: ContextVar[str] = ContextVar("sender", default=HERE)
"""The web process sets it for each request; threads that a request starts inherit it."""

IPV6_NETWORK = 64
"""Bits of an IPv6 address that name a customer's network; the rest can be chosen freely."""


def sender_at(address: str | None) -> str:
    """Returns the sender at a network address."""
    if not address:
        return HERE
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:45]
    if parsed.version == 6 and parsed.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(parsed), IPV6_NETWORK), strict=False))
    return str(parsed.ipv4_mapped or parsed) if parsed.version == 6 else str(parsed)
