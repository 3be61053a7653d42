"""Who sends a request, as far as limits go."""

from __future__ import annotations

import ipaddress

NETWORK_BITS = 64
"""Whoever has one IPv6 address usually has this whole network."""


def client_of(address: tuple[str, int] | None) -> str:
    """Returns the name under which a client's requests are counted."""
    if address is None:
        return "unknown"
    try:
        parsed = ipaddress.ip_address(address[0].partition("%")[0])
    except ValueError:
        return address[0]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, NETWORK_BITS), strict=False))
