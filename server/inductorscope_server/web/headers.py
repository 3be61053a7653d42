"""Headers of every response: the content security policy and related ones."""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import Scope

NONCE = "csp_nonce"

SANDBOX = "sandbox; default-src 'none'"
"""For uploaded content: nothing in it may run or load, however a browser interprets it."""


def nonce_of(scope: Scope) -> str:
    """Returns the nonce of this response's style sheets; created on first use."""
    state: dict[str, str] = scope.setdefault("state", {})
    return state.setdefault(NONCE, secrets.token_urlsafe(16))


def policy(nonce: str) -> str:
    """Returns the Content-Security-Policy of pages: own files only, nothing inline.

    CodeMirror creates its style sheets at run time and marks them with the nonce.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data: blob:",
            "font-src 'self'",
            "connect-src 'self'",
            "frame-src 'self'",
            "worker-src 'self'",
            "manifest-src 'self'",
            "object-src 'none'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
        )
    )


def protect(headers: MutableHeaders, nonce: str) -> None:
    """Adds missing headers; a response with a stricter policy keeps it."""
    headers.setdefault("Content-Security-Policy", policy(nonce))
    headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    headers.setdefault("Referrer-Policy", "same-origin")
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("X-Frame-Options", "DENY")
    headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
    headers.setdefault("Cache-Control", "private, no-cache")
