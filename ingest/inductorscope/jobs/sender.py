"""The sender of a request: its network address, so that one sender with many requests does not hold
up others. `store.who` knows who is logged in there and what they may see."""

import ipaddress
from contextvars import ContextVar

HERE = "here"
"""The sender of requests without an address: the command line on this machine."""

SENDER: ContextVar[str] = ContextVar("sender", default=HERE)
"""Set by the web process for each request; threads that a request starts inherit it."""

IPV6_NETWORK = 64
"""Bits of an IPv6 address that identify a customer's network; the customer chooses the rest."""


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
