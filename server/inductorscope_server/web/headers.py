"""Headers that every answer carries: the content policy and its relatives."""

from __future__ import annotations

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import Scope

NONCE = "csp_nonce"

SANDBOX = "sandbox; default-src 'none'"
"""For content from uploads: nothing in it may run or load, whatever a browser takes it for."""


def nonce_of(scope: Scope) -> str:
    """The nonce of this answer's style sheets, made when first asked for."""
    state: dict[str, str] = scope.setdefault("state", {})
    return state.setdefault(NONCE, secrets.token_urlsafe(16))


def policy(nonce: str) -> str:
    """The Content-Security-Policy of pages: our own files, nothing inline, nothing foreign.

    CodeMirror makes its style sheets at run time and marks them with the nonce.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data: blob:",
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "manifest-src 'self'",
            "object-src 'none'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
        )
    )


def protect(headers: MutableHeaders, nonce: str) -> None:
    """Add what is missing; an answer that set a stricter policy itself keeps it."""
    headers.setdefault("Content-Security-Policy", policy(nonce))
    headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    headers.setdefault("Referrer-Policy", "same-origin")
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("X-Frame-Options", "DENY")
    headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
    headers.setdefault("Cache-Control", "private, no-cache")
